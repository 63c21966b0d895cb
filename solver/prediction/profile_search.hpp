// Implements what profiles of parameters and of functions of parameters have in common: the starts of the
// fits of which a profile consists, and the search for the end of an interval.
#pragma once

#include "support/constants.hpp"

#include <nlsq/profile_intervals.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
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
  const std::vector<double>& nearest() const { return nearest_; }

 private:
  std::vector<double> nearest_;  // where the last fit ended
  std::vector<double> inside_;   // where the last fit with τ < t ended
};

// A decrease of the cost below the fit's own counts only if it is larger than this share of the cost. Smaller
// ones are rounding or the tolerance of the fits.
inline constexpr double kLowerCost = 1e-7;

// Describes a point of a profile. `at` is the distance from the estimate to the place where the quantity is
// held, `value` is the quantity at the minimum found there, and `tau` is τ, the square root of the rise of 2
// * cost over the scale. τ is NaN if no fit converged.
struct ProfilePoint {
  double at = 0, value = 0, tau = 0;
};

struct ProfileEnd {
  double at = kNaN;
  IntervalEnd how = IntervalEnd::failed;
};

// Says when the search between two points ends. It ends if τ/t is within `close` of 1. It ends if the weight
// of the outer point, which the rule halves while that point does not move, has fallen to `least` times t.
// And it ends if the points are nearer to each other than the part `nearest` of their distance from the
// estimate.
struct ProfileTolerance {
  double close, least, nearest;
};

// Limits a step near 0. Models often behave differently on the two sides of 0, and a long step may miss
// the part of the interval next to 0. So a step that would pass 0 ends just before it, and the next step
// just behind it.
inline double beside_zero(double distance, double inside, double estimate, double direction) {
  constexpr double kShort = 1e-3;
  if (!(estimate * direction < 0)) return distance;
  for (const double side : {1 - kShort, 1 + kShort}) {
    const double near = side * std::fabs(estimate);
    if (inside < near && distance > near) return near;
  }
  return distance;
}

// Searches one side of an estimate for the first place where τ = t. A Profile has these members:
//
//   ProfilePoint at(double place)  what fits find there: the profiled quantity and τ
//   double narrow()                holds the quantity closer to its place; returns the factor by which the
//                                  distance between both becomes shorter, or 1 if nothing changes
//   bool is_limited(double way)    returns true if small changes of the parameters of the last fit do not
//   move
//                                  the quantity further in this direction
//   kTolerance, kFarthest          the tolerance, and the largest distance, in units of t standard errors
template <class Profile>
class EndSearch {
 public:
  // `step` is t standard errors, with the sign of the direction.
  EndSearch(Profile& profile, double estimate, double step, double t, double bound, int most)
      : profile_(profile), estimate_(estimate), bound_(bound), step_(std::fabs(step)),
        direction_(step < 0 ? -1 : 1), room_(std::fabs(bound - estimate)), t_(t), most_(most) {
    inside_.value = estimate;
  }

  // Steps outward, and then searches between the last two points. τ may leap where this search ends. There
  // are two possible reasons. The quantity may jump over some values, or the fit of the outer point may have
  // ended in another minimum than the fits inside. So find() first holds the quantity closer to its place, if
  // that is possible. Then it fits the outer point again, with a start at the point inside. If this gives a τ
  // below t, the search goes on outward.
  ProfileEnd find() {
    double reach = kShortStep * step_;
    for (;;) {
      if (const std::optional<ProfileEnd> end = step_outward(reach)) return *end;
      bool closer = true;
      while (closer && search_between()) closer = leaps() && hold_closer();
      if (std::isnan(outside_.tau)) return {};
      if (!leaps() || --most_ < 0) return found();
      const ProfilePoint again = point_at(outside_.at);
      if (!(again.tau < t_)) return found();
      inside_ = again;
      reach = kShortGrowth * inside_.at;
    }
  }

 private:
  // The first step, as a part of the standard interval, and the factor by which steps grow while they are not
  // much longer than it. Longer steps may pass an end, or lead to another minimum.
  static constexpr double kShortStep = 0.25, kShortGrowth = 2.1;
  // A leap of τ, as a part of t, and of the quantity, as a part of its distance from the estimate.
  static constexpr double kLeap = 1e-3;
  static constexpr double kStill = 0.01;  // change of a quantity at rest, as a part of the step of its place

  ProfilePoint point_at(double distance) {
    const double place = distance == room_ ? bound_ : estimate_ + direction_ * distance;
    ProfilePoint point = profile_.at(place);
    point.at = distance;
    return point;
  }
  double farthest() const { return Profile::kFarthest * step_; }
  double limited(double reach) const {
    return std::min(beside_zero(std::min(reach, farthest()), inside_.at, estimate_, direction_), room_);
  }

  bool leaps() const { return outside_.tau > (1 + kLeap) * t_; }

  // Moves both places such that the quantity remains where it is. Returns false if nothing changes.
  bool hold_closer() {
    const double shorter = profile_.narrow();
    for (ProfilePoint* point : {&inside_, &outside_}) {
      const double value = direction_ * (point->value - estimate_);
      point->at = value + shorter * (point->at - value);
    }
    return shorter < 1;
  }

  // Returns the end that was found, unless the quantity jumped over the values around it.
  ProfileEnd found() const {
    const double jump = std::fabs(outside_.value - inside_.value);
    if (leaps() && jump > kLeap * std::fabs(outside_.value - estimate_)) return {};
    return {outside_.value, IntervalEnd::found};
  }

  // Moves the points outward by the slope of τ until τ >= t at the outer one. Returns an end if there is no
  // such point.
  std::optional<ProfileEnd> step_outward(double reach) {
    for (;;) {
      if (--most_ < 0) return ProfileEnd{};
      const double distance = limited(reach);
      outside_ = point_at(distance);
      if (std::isnan(outside_.tau)) {  // the model may be undefined this far from the estimate
        reach = 0.5 * (inside_.at + distance);
        if (reach - inside_.at <= 1e-9 * distance) return ProfileEnd{};
        continue;
      }
      if (outside_.tau >= t_) return std::nullopt;
      if (distance == room_) return ProfileEnd{bound_, IntervalEnd::at_bound};
      const bool rests = std::fabs(outside_.value - inside_.value) <= kStill * (distance - inside_.at);
      if (rests && profile_.is_limited(direction_)) return ProfileEnd{outside_.value, IntervalEnd::at_bound};
      if (distance >= farthest()) {
        const bool follows = std::fabs(outside_.value - estimate_) > 0.5 * distance;
        return follows ? ProfileEnd{direction_ * kInfinity, IntervalEnd::unbounded}
                       : ProfileEnd{outside_.value, IntervalEnd::at_bound};
      }
      const double slope = (outside_.tau - inside_.tau) / (distance - inside_.at),
                   growth = distance < 2 * step_ ? kShortGrowth : 3,
                   next = slope > 0 ? distance + 1.1 * (t_ - outside_.tau) / slope : growth * distance;
      inside_ = outside_;
      reach = std::clamp(next, 1.1 * distance, growth * distance);
    }
  }

  // Moves the points towards the place where τ = t, by the Illinois rule (Dowell and Jarratt, BIT 11, 1971).
  // Returns false if a fit fails or there may be no more fits, and sets τ of the outer point to NaN.
  bool search_between() {
    constexpr ProfileTolerance kAllowed = Profile::kTolerance;
    double f_inside = inside_.tau - t_, f_outside = outside_.tau - t_;
    int side = 0;
    while (outside_.tau - t_ > kAllowed.close * t_ && f_outside > kAllowed.least * t_ &&
           std::fabs(outside_.at - inside_.at) > kAllowed.nearest * outside_.at) {
      if (--most_ < 0) {
        outside_.tau = kNaN;
        return false;
      }
      const auto [low, high] = std::minmax(inside_.at, outside_.at);
      double between = (inside_.at * f_outside - outside_.at * f_inside) / (f_outside - f_inside);
      if (!(between >= low && between <= high)) between = 0.5 * (inside_.at + outside_.at);
      const ProfilePoint middle = point_at(between);
      if (std::isnan(middle.tau)) {
        outside_ = middle;
        return false;
      }
      if (std::fabs(middle.tau - t_) <= kAllowed.close * t_) {
        outside_ = middle;
        break;
      }
      const bool below = middle.tau < t_;
      (below ? inside_ : outside_) = middle;
      (below ? f_inside : f_outside) = middle.tau - t_;
      if (below && side == -1) f_outside *= 0.5;
      if (!below && side == 1) f_inside *= 0.5;
      side = below ? -1 : 1;
    }
    return true;
  }

  Profile& profile_;
  double estimate_, bound_, step_, direction_, room_, t_;
  int most_;  // fits that may still be made
  ProfilePoint inside_, outside_;
};

}  // namespace nlsq::inline v0
