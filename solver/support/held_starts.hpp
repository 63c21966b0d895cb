// Chooses the starts of the fits that a profile consists of. Each fit begins where its neighbour ended. The
// profiles of parameters and of functions of parameters use it.
#pragma once

#include <utility>
#include <vector>

namespace nlsq::inline v0 {

class HeldStarts {
 public:
  explicit HeldStarts(const std::vector<double>& estimate) : nearest_(estimate), inside_(estimate) {}

  // Returns the minimum with the lowest τ that was found. `fit(start)` must return an optional result with
  // the members `tau` and `parameters`, which is empty if the fit found no minimum. A result is inside the
  // interval if τ < t. A fit that starts outside may stay in a higher minimum. Therefore, if the first result
  // is not inside, this function fits again from the last point inside.
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
  std::vector<double> nearest_;  // where the last fit ended
  std::vector<double> inside_;   // where the last fit with τ < t ended
};

}  // namespace nlsq::inline v0
