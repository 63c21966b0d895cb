// Implements profile_intervals(): confidence intervals by profile likelihood.
#include <nlsq/profile_intervals.hpp>
#include <nlsq/statistics.hpp>

#include "enum_names.hpp"
#include "fit/fit_setup.hpp"
#include "support/constants.hpp"
#include "support/fp_environment.hpp"
#include "support/held_starts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace nlsq::inline v0 {

namespace {

// Relative tolerance of |τ| - t, far below the precision to which intervals are read.
constexpr double kClose = 1e-9;
constexpr double kFarthestEnd = 1e6;  // largest distance from the estimate, in standard errors
// Relative to the cost. Smaller decreases are rounding or the tolerance of the fits.
constexpr double kLower = 1e-7;

// Profile of one parameter. τ at p is the square root of the rise of 2 * cost divided by the scale. It is
// linear in p for linear models. The interval ends where τ = t.
class Profile {
 public:
  Profile(const Refit& refit, const FitResult& fit, const FitOptions& options, std::size_t j, double scale,
          double t)
      : refit_(refit), fit_(fit), options_(options), j_(j), scale_(scale), t_(t), starts_(fit.parameters) {
    options_.fixed.push_back(fit.parameter_names[j]);
    options_.starts = 1;
    options_.callback = nullptr;
    options_.sampling = Sampling::never;  // each start is near its end
    // The starts are ends of neighbouring fits, where linear parameters are already solved for.
    for (std::size_t k = 0; k < fit.fixed.size(); ++k) {
      const std::string& name = fit.parameter_names[k];
      if (fit.fixed[k] && std::ranges::find(options_.fixed, name) == options_.fixed.end())
        options_.fixed.push_back(name);
    }
  }

  // Returns NaN if no fit converged.
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
    if (rise < -kLower * 2 * fit_.summary.final_cost &&
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

struct End {
  double at = kNaN;
  IntervalEnd how = IntervalEnd::failed;
};

// A model often changes its kind where a parameter passes 0, and a step may leap over all that is next to 0.
// So a step that would pass it ends just before, and the next one just behind.
double beside_zero(double distance, double inside, double estimate, double direction) {
  constexpr double kShort = 1e-3;
  if (!(estimate * direction < 0)) return distance;
  for (const double side : {1 - kShort, 1 + kShort}) {
    const double near = side * std::fabs(estimate);
    if (inside < near && distance > near) return near;
  }
  return distance;
}

// Finds where τ = t on one side. Steps outward by the slope of τ, then uses the Illinois rule between the
// brackets (Dowell and Jarratt, BIT 11, 1971).
End find_end(Profile& profile, double estimate, double step, double t, double bound, int most) {
  double inside = 0, tau_inside = 0;  // distances from the estimate
  double outside = 0, tau_outside = kNaN, reach = std::fabs(step);
  const double direction = step < 0 ? -1 : 1, room = std::fabs(bound - estimate);
  for (;; reach = std::min(reach, kFarthestEnd * std::fabs(step))) {
    if (--most < 0) return {};
    const double wanted = beside_zero(reach, inside, estimate, direction);
    const bool limited = wanted >= room;
    const double distance = limited ? room : wanted;
    const double tau = profile.tau(limited ? bound : estimate + direction * distance);
    if (std::isnan(tau)) {  // the model may be undefined this far out, so halve the distance
      reach = 0.5 * (inside + distance);
      if (reach - inside <= 1e-9 * distance) return {};
      continue;
    }
    if (tau >= t) {
      outside = distance;
      tau_outside = tau;
      break;
    }
    if (limited) return {bound, IntervalEnd::at_bound};
    if (distance >= kFarthestEnd * std::fabs(step)) return {direction * kInfinity, IntervalEnd::unbounded};
    // Secant through the last two points, at most three times the distance.
    const double slope = (tau - tau_inside) / (distance - inside);
    const double next = slope > 0 ? distance + 1.1 * (t - tau) / slope : 3 * distance;
    inside = distance;
    tau_inside = tau;
    reach = std::clamp(next, 1.1 * distance, 3 * distance);
  }
  double f_inside = tau_inside - t, f_outside = tau_outside - t;
  int side = 0;
  while (f_outside > kClose * t && outside - inside > 1e-12 * outside) {
    if (--most < 0) return {};
    double middle = (inside * f_outside - outside * f_inside) / (f_outside - f_inside);
    if (!(middle > inside && middle < outside)) middle = 0.5 * (inside + outside);
    const double f = profile.tau(estimate + direction * middle) - t;
    if (std::isnan(f)) return {};
    if (std::fabs(f) <= kClose * t) return {estimate + direction * middle, IntervalEnd::found};
    if (f < 0) {
      inside = middle;
      f_inside = f;
      if (side == -1) f_outside *= 0.5;
      side = -1;
    } else {
      outside = middle;
      f_outside = f;
      if (side == 1) f_inside *= 0.5;
      side = 1;
    }
  }
  return {estimate + direction * outside, IntervalEnd::found};
}

std::vector<std::size_t> chosen(const FitResult& fit, const IntervalOptions& options) {
  const auto fitted = [&](std::size_t j) {
    return !fit.fixed[j] && (fit.ties.empty() || fit.ties[j].empty());
  };
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

// The scale of 2 * cost, such that the interval ends where it rises by t².
double scale_of(const FitResult& fit, const FitOptions& options) {
  if (options.absolute_sigma || fit.loss.is_counts()) return 1;
  return fit.rss / static_cast<double>(fit.dof);
}

}  // namespace

const char* name(IntervalEnd end) noexcept {
  static constexpr const char* kNames[] = {"found", "at_bound", "unbounded", "failed"};
  return name_in<IntervalEnd::failed>(kNames, end);
}

ProfileIntervals profile_intervals_by(const Refit& refit, const FitResult& fit, const FitOptions& options,
                                      const IntervalOptions& intervals) {
  const FpEnvironment environment;
  if (!(intervals.confidence > 0 && intervals.confidence < 1)) {
    throw ValidationError(fmt::format("confidence = {}: use a number between 0 and 1", intervals.confidence));
  }
  if (intervals.most_fits < 1)
    throw ValidationError(fmt::format("most_fits = {}: use 1 or more", intervals.most_fits));
  if (fit.loss.is_robust()) {
    throw ValidationError(fmt::format(
        "intervals: loss {} is no likelihood; its standard errors are those of the fit", fit.loss.name()));
  }
  if (!fit.success()) throw ValidationError("intervals: the fit ended without a certified minimum");
  const double scale = scale_of(fit, options);
  if (!(scale > 0) || fit.dof <= 0)
    throw ValidationError("intervals: without degrees of freedom, or with residuals of zero, there are none");
  const double t =
      student_t_quantile(intervals.confidence, scale == 1 && (options.absolute_sigma || fit.loss.is_counts())
                                                   ? kInfinity
                                                   : static_cast<double>(fit.dof));
  const Limits limits = limits_of(options.bounds, fit.parameter_names);
  ProfileIntervals out;
  out.threshold = t * t * scale;
  for (const std::size_t j : chosen(fit, intervals)) {
    const double estimate = fit.parameters[j], step = t * fit.standard_errors[j];
    Profile profile(refit, fit, options, j, scale, t);
    const End lower = find_end(profile, estimate, -step, t, limits.empty() ? -kInfinity : limits.lower[j],
                               intervals.most_fits);
    profile.start_again();
    const End upper = find_end(profile, estimate, step, t, limits.empty() ? kInfinity : limits.upper[j],
                               intervals.most_fits);
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
