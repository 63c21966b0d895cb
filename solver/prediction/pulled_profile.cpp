// Implements intervals by profile likelihood for functions of the parameters.
#include "prediction/pulled_profile.hpp"

#include "fit/prepared_impl.hpp"
#include "prediction/delta_method.hpp"
#include "prediction/profile_search.hpp"
#include "support/constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace nlsq::inline v0 {

namespace {

constexpr double kFarthestTarget = 1e5;  // largest distance of the target, in standard errors
constexpr double kFarPull = 2;           // how far h may be from its target, in t standard errors
constexpr double kStill = 0.002;      // h counts as at rest if it moves by at most this part of its distance
                                      // from the fit
constexpr double kLeastWidth = 1e-4;  // of the row that pulls, as a part of the first width

class PulledProfile {
 public:
  PulledProfile(const PreparedModel& model, PulledData& data, const FitResult& fit, const FitOptions& refit,
                double width, double scatter, double t)
      : model_(model), data_(data), fit_(fit), options_(refit), first_width_(width), width_(width),
        scatter_(scatter), t_(t), starts_(fit.parameters), columns_(data.x.begin(), data.x.end()) {
    set_width(width);
    options_.sampling = Sampling::never;  // samples would miss the row that pulls
  }

  ProfilePoint at(double target) {
    const std::optional<Pulled> lowest =
        starts_.lowest(t_, [&](const std::vector<double>& start) { return pulled_to(target, start); });
    return lowest ? ProfilePoint{target, lowest->h, lowest->tau} : ProfilePoint{target, kNaN, kNaN};
  }
  void start_again() {
    starts_ = HeldStarts(fit_.parameters);
    set_width(first_width_);
  }

  // Makes the pull stronger: multiplies the width by `factor`, as far as that is allowed. Returns the factor
  // by which the distances between h and the targets must become shorter, so that h remains where it is.
  double narrow(double factor) {
    const double before = width_;
    set_width(std::max(factor * width_, kLeastWidth * first_width_));
    return width_ * width_ / (before * before);
  }

  double narrowness() const { return width_ / first_width_; }  // 1 at first, then less

  int fits = 0;
  bool better_found = false;

 private:
  struct Pulled {
    std::vector<double> parameters;
    double h, tau;
  };

  void set_width(double width) {
    width_ = width;
    data_.sigma.back() = width;
    options_.sigma = data_.sigma;
  }
  std::optional<Pulled> pulled_to(double target, const std::vector<double>& start) {
    ++fits;
    data_.y.back() = target;
    const FitResult pulled =
        curve_fit(model_, Columns(columns_), data_.y, refit_start(fit_, start), options_);
    if (!pulled.success()) return std::nullopt;
    const double h = value(pulled.parameters), pull = (h - target) / width_;
    const double least = 2 * fit_.summary.final_cost;
    const double rise = 2 * pulled.summary.final_cost - pull * pull - least;
    const double rounding = 1e-15 * pull * pull;
    if (rise < -kLowerCost * least - rounding) better_found = true;
    return Pulled{pulled.parameters, h, std::sqrt(std::max(0.0, rise) / scatter_)};
  }
  double value(const std::vector<double>& p) const;

  const PreparedModel& model_;
  PulledData& data_;
  const FitResult& fit_;
  FitOptions options_;
  double first_width_, width_, scatter_, t_;
  HeldStarts starts_;
  std::vector<Column> columns_;
};

double PulledProfile::value(const std::vector<double>& p) const {
  std::vector<double> row;
  for (const std::vector<double>& column : data_.x) row.push_back(column.back());
  const PreparedModel::Impl& impl = model_.impl();
  return impl.formula ? impl.formula->evaluate(row, p) : impl.function->value(row.data(), p);
}

// Moves the target of a point to where it must be after the pull became stronger.
void retarget(ProfilePoint& point, double shorter) {
  point.at = point.value + shorter * (point.at - point.value);
}

// Moves the target outward until τ reaches t. Where h is linear and the errors are small, τ = u/2 for a
// target u standard errors away. Returns false if there is no such target, with the reason in `end`.
bool bracket(PulledProfile& profile, ProfilePoint& inside, ProfilePoint& outside, double step, double t,
             int& most, ProfileEnd& end) {
  const double from = inside.at, farthest = std::max(kFarthestTarget, 10 * t);
  for (double u = 2 * t; --most >= 0;) {
    const ProfilePoint next = profile.at(from + u * step);
    if (std::isnan(next.tau)) {  // the model may be undefined this far from the fit, so the distance is
                                 // halved
      const double reached = (inside.at - from) / step;
      u = 0.5 * (reached + u);
      if (u - reached <= 1e-9 * u) return false;
      continue;
    }
    if (next.tau >= t) {
      outside = next;
      return true;
    }
    const double behind = std::fabs(next.at - next.value) / std::fabs(step);
    // h follows the target without limit, or cannot follow it.
    if (u >= farthest || behind >= farthest * profile.narrowness()) {
      const bool follows = std::fabs(next.value - from) > 0.5 * std::fabs(next.at - from);
      end = follows ? ProfileEnd{step < 0 ? -kInfinity : kInfinity, IntervalEnd::unbounded}
                    : ProfileEnd{next.value, IntervalEnd::at_bound};
      return false;
    }
    const double moved = std::fabs(next.value - inside.value), all = std::fabs(next.value - from);
    inside = next;
    // If the cost rises so steeply with h that h remains far from its target, a stronger pull allows a target
    // nearer to h. Otherwise the row that pulls would dominate the cost, and the fits would be inexact. If h
    // has reached the limit of its range in the model, it hardly moves, and only the target moves on.
    if (behind > kFarPull * t && moved > kStill * all) {
      retarget(inside, profile.narrow(std::sqrt(t / behind)));
      u = std::max((inside.at - from) / step, 0.1 * t);
    }
    u = std::min(farthest, u * std::clamp(next.tau > 0 ? 1.1 * t / next.tau : 3.0, 1.1, 10.0));
  }
  return false;
}

// Finds the h of the target at which τ = t.
ProfileEnd find_end(PulledProfile& profile, double estimate, double step, double t, int most) {
  constexpr double kClose = 1e-6;  // the end is as close, in standard errors
  constexpr double kLeap = 1e-3;
  ProfilePoint inside{estimate, estimate, 0}, outside;
  ProfileEnd end;
  if (!bracket(profile, inside, outside, step, t, most, end)) return end;
  for (;;) {
    end = end_between(inside, outside, t, {kClose, 0, 1e-9, estimate}, most,
                      [&](double target) { return profile.at(target); });
    // Where the cost is not convex in h, some values of h are reached by no target of this pull: h jumps over
    // them. The end may be one of these values, and a stronger pull reaches it.
    const bool leaps = std::fabs(outside.value - inside.value) > kLeap * std::fabs(outside.value - estimate);
    if (end.how != IntervalEnd::found || outside.tau <= (1 + kLeap) * t || !leaps) return end;
    const double shorter = profile.narrow(0.1);
    if (shorter == 1) return {};
    retarget(inside, shorter);
    retarget(outside, shorter);
  }
}

}  // namespace

PulledData pulled_data(const Columns& x, const std::vector<double>& y, const FitOptions& options) {
  const std::size_t rows = y.size();
  PulledData out;
  for (const Column& column : x.list()) {
    std::vector<double>& values = out.x.emplace_back(rows + 1);
    column.read(0, rows, values.data());
    values.back() = values.front();
  }
  out.y = y;
  out.y.push_back(0);
  out.sigma.assign(rows + 1, 1.0);
  if (!options.sigma.empty()) options.sigma.read(0, rows, out.sigma.data());
  return out;
}

PulledScale pulled_scale(std::string_view what, const FitResult& fit, const FitOptions& options,
                         double confidence, int most_fits) {
  const auto refuse = [&](const std::string& why) {
    throw ValidationError(fmt::format("{}: {}", what, why));
  };
  check_confidence(confidence);
  if (most_fits < 1) refuse(fmt::format("most_fits = {}: use 1 or more", most_fits));
  if (fit.loss.is_robust())
    refuse(fmt::format("loss {} is no likelihood, so it has no profile", fit.loss.name()));
  if (fit.loss.is_counts())
    refuse("not available for counts; use intervals from standard errors, or the bootstrap");
  if (has_x_errors(options))
    refuse("not available with errors in x; use intervals from standard errors, or the bootstrap");
  if (!options.sigma_matrix.empty())
    refuse("not available with a covariance matrix of y; use intervals from standard errors");
  if (!fit.success()) refuse("the fit ended without a certified minimum");
  PulledScale out;
  out.scatter = options.absolute_sigma ? 1 : fit.chi2_reduced;
  if (!(out.scatter > 0) || (fit.dof <= 0 && !options.absolute_sigma))
    refuse("without degrees of freedom, or with residuals of zero, there are no intervals");
  out.quantile = interval_quantile(fit, options, confidence);
  out.most_fits = most_fits;
  return out;
}

PulledInterval pulled_interval(const PreparedModel& model, PulledData data, const FitResult& fit,
                               const FitOptions& refit, const PulledScale& scale, double estimate,
                               double standard_error) {
  if (standard_error == 0)  // h depends on no fitted parameter
    return {estimate, estimate, IntervalEnd::found, IntervalEnd::found};
  if (!std::isfinite(estimate) || !(standard_error > 0)) return {kNaN, kNaN};
  const double width = standard_error / std::sqrt(scale.scatter);
  PulledProfile profile(model, data, fit, refit, width, scale.scatter, scale.quantile);
  const ProfileEnd low = find_end(profile, estimate, -standard_error, scale.quantile, scale.most_fits);
  profile.start_again();
  const ProfileEnd high = find_end(profile, estimate, standard_error, scale.quantile, scale.most_fits);
  return {low.at, high.at, low.how, high.how, profile.fits, profile.better_found};
}

}  // namespace nlsq::inline v0
