// Implements what profiles of parameters and of functions of parameters have in common: the starts of the
// fits of which a profile consists, and the search for the end of an interval.
#pragma once

#include "support/constants.hpp"

#include <nlsq/profile_intervals.hpp>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

// Chooses the starts of the fits. Each fit begins where its neighbour ended.
class HeldStarts {
 public:
  explicit HeldStarts(const std::vector<double>& estimate) : nearest_(estimate), inside_(estimate) {}

  // Returns the minimum with the lowest τ that was found. `fit(start)` must return an optional result with
  // the members `tau` and `parameters`. The result must be empty if the fit found no minimum. A result is
  // inside the interval if τ < t. A fit that starts outside may stay in a higher minimum. Therefore, if the
  // first result is not inside, this function fits again from the last point inside.
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

// A decrease of the cost below the fit's own counts only if it is larger than this share of the cost. Smaller
// ones are rounding or the tolerance of the fits.
inline constexpr double kLowerCost = 1e-7;

// The first step of a search, as a part of the standard interval, and the factor by which steps grow while
// they are not much longer than it. Longer steps may pass an end, or lead to another minimum.
inline constexpr double kShortStep = 0.25, kShortGrowth = 2.1;

// This is a point of a profile: the number that the search moves, the profiled quantity, and τ, the square
// root of the rise of 2 * cost over the scale. τ is NaN if no fit converged.
struct ProfilePoint {
  double at = 0, value = 0, tau = 0;
};

struct ProfileEnd {
  double at = kNaN;
  IntervalEnd how = IntervalEnd::failed;
};

// When a search ends: if τ/t is within `close` of 1; if the weight of the outer point, which the rule halves
// while that point does not move, has fallen to `least` times t; or if the distance of the points is below
// the part `nearest` of their distance from `origin`.
struct ProfileTolerance {
  double close, least, nearest, origin;
};

// Finds where τ = t between `inside`, where τ < t, and `outside`, where it is not, by the Illinois rule
// (Dowell and Jarratt, BIT 11, 1971). Calls point_at(at) up to `most` times, and leaves in `most` how many
// calls remain. Sets the points to those between which the search ended. The returned end is the outer one.
template <class PointAt>
ProfileEnd end_between(ProfilePoint& inside, ProfilePoint& outside, double t, const ProfileTolerance& allowed,
                       int& most, PointAt point_at) {
  double f_inside = inside.tau - t, f_outside = outside.tau - t;
  int side = 0;
  while (outside.tau - t > allowed.close * t && f_outside > allowed.least * t &&
         std::fabs(outside.at - inside.at) > allowed.nearest * std::fabs(outside.at - allowed.origin)) {
    if (--most < 0) return {};
    const auto [low, high] = std::minmax(inside.at, outside.at);
    double between = (inside.at * f_outside - outside.at * f_inside) / (f_outside - f_inside);
    if (!(between >= low && between <= high)) between = 0.5 * (inside.at + outside.at);
    const ProfilePoint middle = point_at(between);
    if (std::isnan(middle.tau)) return {};
    if (std::fabs(middle.tau - t) <= allowed.close * t) {
      outside = middle;
      break;
    }
    const bool below = middle.tau < t;
    (below ? inside : outside) = middle;
    (below ? f_inside : f_outside) = middle.tau - t;
    if (below && side == -1) f_outside *= 0.5;
    if (!below && side == 1) f_inside *= 0.5;
    side = below ? -1 : 1;
  }
  return {outside.value, IntervalEnd::found};
}

}  // namespace nlsq::inline v0
