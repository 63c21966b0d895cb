// Implements profile_intervals(): confidence intervals by profile likelihood.
#include <nlsq/profile_intervals.hpp>

#include "enum_names.hpp"
#include "fit/fit_setup.hpp"
#include "prediction/delta_method.hpp"
#include "prediction/profile_search.hpp"
#include "prediction/right_side.hpp"
#include "support/constants.hpp"
#include "support/fp_environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace nlsq::inline v0 {

namespace {

constexpr double kFarthestEnd = 1e6;  // largest distance from the estimate, in standard errors

// Profile of one parameter. τ at p is the square root of the rise of 2 * cost divided by the scale. It is
// linear in p for linear models. The interval ends where τ = t.
class HeldProfile {
 public:
  HeldProfile(const Refit& refit, const FitResult& fit, const FitOptions& options, std::size_t j,
              double scale, double t)
      : refit_(refit), fit_(fit), options_(options), j_(j), scale_(scale), t_(t), starts_(fit.parameters) {
    options_.fixed.push_back(fit.parameter_names[j]);
    options_.starts = 1;
    options_.callback = nullptr;
    options_.sampling = Sampling::never;  // starts are near the minima
    fix_as_in(fit, options_);
  }

  // Returns τ at p, or NaN if no fit converged.
  double tau(double p) {
    const std::optional<Point> lowest =
        starts_.lowest(t_, [&](const std::vector<double>& start) { return held_at(p, start); });
    return lowest ? lowest->tau : kNaN;
  }
  void start_again() { starts_ = HeldStarts(fit_.parameters); }
  int fits() const { return fits_; }
  const std::optional<std::vector<double>>& better() const { return better_; }

 private:
  struct Point {
    std::vector<double> parameters;
    double tau;
  };

  std::optional<Point> held_at(double p, std::vector<double> start) {
    ++fits_;
    start[j_] = p;
    const FitResult held = refit_(start, options_);
    if (!held.success()) return std::nullopt;
    const double rise = 2 * (held.summary.final_cost - fit_.summary.final_cost);
    if (rise < -kLowerCost * 2 * fit_.summary.final_cost &&
        (!better_ || held.summary.final_cost < better_cost_)) {
      better_ = held.parameters;
      better_cost_ = held.summary.final_cost;
    }
    return Point{held.parameters, std::sqrt(std::max(0.0, rise) / scale_)};
  }

  const Refit& refit_;
  const FitResult& fit_;
  FitOptions options_;
  std::size_t j_;
  double scale_, t_;
  HeldStarts starts_;
  int fits_ = 0;
  std::optional<std::vector<double>> better_;
  double better_cost_ = 0;
};

// Limits a step near 0. Models often behave differently on the two sides of 0, and a long step may miss
// the part of the interval next to 0. So a step that would pass 0 ends just before it, and the next step
// just behind it.
double beside_zero(double distance, double inside, double estimate, double direction) {
  constexpr double kShort = 1e-3;
  if (!(estimate * direction < 0)) return distance;
  for (const double side : {1 - kShort, 1 + kShort}) {
    const double near = side * std::fabs(estimate);
    if (inside < near && distance > near) return near;
  }
  return distance;
}

// Searches one side of an estimate for the first place where τ = t. Points are at distances from the
// estimate.
class EndSearch {
 public:
  EndSearch(HeldProfile& profile, double estimate, double step, double t, double bound, int most)
      : profile_(profile), estimate_(estimate), bound_(bound), step_(std::fabs(step)),
        direction_(step < 0 ? -1 : 1), room_(std::fabs(bound - estimate)), t_(t), most_(most) {}

  // Steps outward, then searches between the last two points. The fit of the outer one may have ended in
  // another minimum than those inside, with a higher τ. Then τ leaps at the place where the search ends. So
  // that place is fitted again from the point inside. If its τ is below t now, the search goes on outward.
  ProfileEnd find() {
    constexpr double kClose = 1e-9;  // far below the precision to which intervals are read
    constexpr double kLeap = 1e-3;
    double reach = kShortStep * step_;
    for (;;) {
      if (const std::optional<ProfileEnd> end = step_outward(reach)) return *end;
      const ProfileEnd end = end_between(inside_, outside_, t_, {kClose, kClose, 1e-12, 0}, most_,
                                         [this](double distance) { return point_at(distance); });
      const bool leaps = end.how == IntervalEnd::found && outside_.tau > (1 + kLeap) * t_;
      if (!leaps || --most_ < 0) return end;
      const ProfilePoint again = point_at(outside_.at);
      if (!(again.tau < t_)) return end;
      inside_ = again;
      reach = kShortGrowth * again.at;
    }
  }

 private:
  ProfilePoint point_at(double distance) {
    const double p = distance == room_ ? bound_ : estimate_ + direction_ * distance;
    return {distance, p, profile_.tau(p)};
  }

  double farthest() const { return kFarthestEnd * step_; }
  double limited(double reach) const {
    return std::min(beside_zero(std::min(reach, farthest()), inside_.at, estimate_, direction_), room_);
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
      if (distance >= farthest()) return ProfileEnd{direction_ * kInfinity, IntervalEnd::unbounded};
      const double slope = (outside_.tau - inside_.tau) / (distance - inside_.at),
                   growth = distance < 2 * step_ ? kShortGrowth : 3,
                   next = slope > 0 ? distance + 1.1 * (t_ - outside_.tau) / slope : growth * distance;
      inside_ = outside_;
      reach = std::clamp(next, 1.1 * distance, growth * distance);
    }
  }

  HeldProfile& profile_;
  double estimate_, bound_, step_, direction_, room_, t_;
  int most_;  // fits that may still be made
  ProfilePoint inside_, outside_;
};

std::vector<std::size_t> chosen(const FitResult& fit, const IntervalOptions& options) {
  const auto fitted = [&](std::size_t j) { return !fit.fixed[j] && !is_tied(fit, j); };
  std::vector<std::size_t> out;
  if (options.parameters.empty()) {
    for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
      if (fitted(j) && !fit.at_bound[j] && fit.standard_errors[j] > 0) out.push_back(j);
    }
    return out;
  }
  for (const std::string& wanted : options.parameters) {
    const std::size_t j = parameter_index(fit.parameter_names, wanted, "intervals");
    if (!fitted(j))
      throw ValidationError(fmt::format("intervals: '{}' was not fitted: it is fixed or tied", wanted));
    if (fit.at_bound[j])
      throw ValidationError(fmt::format("intervals: '{}' ends on a bound, {}: its estimate is no minimum",
                                        wanted, fit.parameters[j]));
    if (!(fit.standard_errors[j] > 0))
      throw ValidationError(fmt::format("intervals: the data do not determine '{}'", wanted));
    out.push_back(j);
  }
  return out;
}

}  // namespace

const char* name(IntervalEnd end) noexcept {
  static constexpr const char* kNames[] = {"found", "at_bound", "unbounded", "failed"};
  return name_in<IntervalEnd::failed>(kNames, end);
}

ProfileIntervals profile_intervals_by(const Refit& refit, const FitResult& fit, const FitOptions& options,
                                      const IntervalOptions& intervals) {
  const FpEnvironment environment;
  check_confidence(intervals.confidence);
  if (intervals.most_fits < 1)
    throw ValidationError(fmt::format("most_fits = {}: use 1 or more", intervals.most_fits));
  if (fit.loss.is_robust()) {
    throw ValidationError(fmt::format(
        "intervals: loss {} is no likelihood; its standard errors are those of the fit", fit.loss.name()));
  }
  if (!fit.success()) throw ValidationError("intervals: the fit ended without a certified minimum");
  // The scale of 2 * cost, such that the interval ends where it rises by t².
  const bool known = options.absolute_sigma || fit.loss.is_counts();
  const double scale = known ? 1 : fit.chi2_reduced;
  if (!known && (!(scale > 0) || fit.dof <= 0))
    throw ValidationError("intervals: without degrees of freedom, or with residuals of zero, there are none");
  const double t = interval_quantile(fit, options, intervals.confidence);
  const Limits limits = limits_of(options.bounds, fit.parameter_names);
  ProfileIntervals out;
  out.threshold = t * t * scale;
  for (const std::size_t j : chosen(fit, intervals)) {
    const double estimate = fit.parameters[j], step = t * fit.standard_errors[j];
    HeldProfile profile(refit, fit, options, j, scale, t);
    const auto end = [&](double to, double bound) {
      return EndSearch(profile, estimate, to, t, bound, intervals.most_fits).find();
    };
    const ProfileEnd lower = end(-step, limits.empty() ? -kInfinity : limits.lower[j]);
    profile.start_again();
    const ProfileEnd upper = end(step, limits.empty() ? kInfinity : limits.upper[j]);
    out.intervals.push_back(
        {fit.parameter_names[j], estimate, lower.at, upper.at, lower.how, upper.how, profile.fits()});
    if (profile.better() && !out.better_found) {
      out.better_found = true;
      out.better = *profile.better();
    }
  }
  return out;
}

}  // namespace nlsq::inline v0
