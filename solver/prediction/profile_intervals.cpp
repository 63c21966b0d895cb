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

// Finds where τ = t on one side. Steps outward by the slope of τ, then searches between the last two points.
// The points are at distances from the estimate.
ProfileEnd find_end(HeldProfile& profile, double estimate, double step, double t, double bound, int most) {
  constexpr double kClose = 1e-9;  // far below the precision to which intervals are read
  ProfilePoint inside, outside;
  double reach = std::fabs(step);
  const double direction = step < 0 ? -1 : 1, room = std::fabs(bound - estimate);
  const auto point_at = [&](double distance) {
    const double p = distance == room ? bound : estimate + direction * distance;
    return ProfilePoint{distance, p, profile.tau(p)};
  };
  for (;; reach = std::min(reach, kFarthestEnd * std::fabs(step))) {
    if (--most < 0) return {};
    const double distance = std::min(beside_zero(reach, inside.at, estimate, direction), room);
    outside = point_at(distance);
    if (std::isnan(outside.tau)) {  // the model may be undefined this far from the estimate, so the distance
                                    // is halved
      reach = 0.5 * (inside.at + distance);
      if (reach - inside.at <= 1e-9 * distance) return {};
      continue;
    }
    if (outside.tau >= t) break;
    if (distance == room) return {bound, IntervalEnd::at_bound};
    if (distance >= kFarthestEnd * std::fabs(step)) return {direction * kInfinity, IntervalEnd::unbounded};
    // Takes a secant through the last two points, to at most three times the distance.
    const double slope = (outside.tau - inside.tau) / (distance - inside.at);
    const double next = slope > 0 ? distance + 1.1 * (t - outside.tau) / slope : 3 * distance;
    inside = outside;
    reach = std::clamp(next, 1.1 * distance, 3 * distance);
  }
  return end_between(inside, outside, t, {kClose, kClose, 1e-12, 0}, most, point_at);
}

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
  const double scale = options.absolute_sigma || fit.loss.is_counts() ? 1 : fit.chi2_reduced;
  if (!(scale > 0) || fit.dof <= 0)
    throw ValidationError("intervals: without degrees of freedom, or with residuals of zero, there are none");
  const double t = interval_quantile(fit, options, intervals.confidence);
  const Limits limits = limits_of(options.bounds, fit.parameter_names);
  ProfileIntervals out;
  out.threshold = t * t * scale;
  for (const std::size_t j : chosen(fit, intervals)) {
    const double estimate = fit.parameters[j], step = t * fit.standard_errors[j];
    HeldProfile profile(refit, fit, options, j, scale, t);
    const ProfileEnd lower = find_end(profile, estimate, -step, t,
                                      limits.empty() ? -kInfinity : limits.lower[j], intervals.most_fits);
    profile.start_again();
    const ProfileEnd upper = find_end(profile, estimate, step, t,
                                      limits.empty() ? kInfinity : limits.upper[j], intervals.most_fits);
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
