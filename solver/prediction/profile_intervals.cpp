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

// Checks that refits are of the data of the fit, by a fit in which every parameter is fixed.
void check_refits(const Refit& refit, const FitResult& fit, FitOptions options) {
  options.starts = 1;
  options.callback = nullptr;
  for (std::size_t j = 0; j < fit.fixed.size(); ++j) {
    const std::string& name = fit.parameter_names[j];
    if (!is_tied(fit, j) && std::ranges::find(options.fixed, name) == options.fixed.end())
      options.fixed.push_back(name);
  }
  const FitResult at = refit(fit.parameters, options);
  if (at.success()) check_same_cost("intervals", at.summary.final_cost, fit.summary.final_cost, fit);
}

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

  // For EndSearch. Intervals are read to far fewer digits than this tolerance.
  static constexpr ProfileTolerance kTolerance{1e-9, 1e-9, 1e-12};
  static constexpr double kFarthest = 1e6;
  static double narrow() { return 1; }
  static bool is_limited(double) { return false; }
  ProfilePoint at(double p) {
    const std::optional<Point> lowest =
        starts_.lowest(t_, [&](const std::vector<double>& start) { return held_at(p, start); });
    return {0, p, lowest ? lowest->tau : kNaN};
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
  check_refits(refit, fit, options);
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
