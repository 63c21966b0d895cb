// Starts of the fits that follow a profile: each begins where its neighbour ended. Profiles of parameters and
// of functions of them use it.
#pragma once

#include <utility>
#include <vector>

namespace nlsq::inline v0 {

class HeldStarts {
 public:
  explicit HeldStarts(const std::vector<double>& estimate) : nearest_(estimate), inside_(estimate) {}

  // Calls `fit(start)`, which returns an optional with members `tau` and `parameters`; none: no minimum was
  // found. The interval is where τ < t. A fit from a point outside may stay in another minimum, which is
  // higher here. So what seems to be outside is fitted again from the last point inside, and the lower one
  // counts.
  template <class Fit>
  auto lowest(double t, Fit fit) {
    auto best = fit(nearest_);
    if (!(best && best->tau < t) && nearest_ != inside_) {
      auto again = fit(inside_);
      if (again && !(best && best->tau <= again->tau)) best = std::move(again);
    }
    if (best) nearest_ = best->parameters;
    if (best && best->tau < t) inside_ = nearest_;
    return best;
  }

 private:
  std::vector<double> nearest_, inside_;  // ends of the last fit, and of the last one with τ < t
};

}  // namespace nlsq::inline v0
