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
#include <ranges>

namespace nlsq::inline v0 {

namespace {

constexpr double kFarthestTarget = 1e5;  // largest distance of the target, in standard errors

class PulledProfile {
 public:
  PulledProfile(const PreparedModel& model, PulledData& data, const FitResult& fit, const FitOptions& refit,
                double width, double scatter, double t)
      : model_(model), data_(data), fit_(fit), options_(refit), width_(width), scatter_(scatter), t_(t),
        starts_(fit.parameters), columns_(data.x.begin(), data.x.end()) {
    data_.sigma.back() = width;
    options_.sigma = data_.sigma;
    options_.sampling = Sampling::never;  // samples would miss the row that pulls
  }

  // The fit that is pulled to the target.
  ProfilePoint at(double target) {
    const std::optional<Pulled> lowest =
        starts_.lowest(t_, [&](const std::vector<double>& start) { return pulled_to(target, start); });
    return lowest ? ProfilePoint{target, lowest->h, lowest->tau} : ProfilePoint{target, kNaN, kNaN};
  }
  void start_again() { starts_ = HeldStarts(fit_.parameters); }

  int fits = 0;
  bool better_found = false;

 private:
  struct Pulled {
    std::vector<double> parameters;
    double h, tau;
  };

  std::optional<Pulled> pulled_to(double target, const std::vector<double>& start) {
    ++fits;
    data_.y.back() = target;
    const FitResult pulled =
        curve_fit(model_, Columns(columns_), data_.y, refit_start(fit_, start), options_);
    if (!pulled.success()) return std::nullopt;
    const double h = value(pulled.parameters), pull = (h - target) / width_;
    const double least = 2 * fit_.summary.final_cost;
    const double rise = 2 * pulled.summary.final_cost - pull * pull - least;
    if (rise < -kLowerCost * least) better_found = true;
    return Pulled{pulled.parameters, h, std::sqrt(std::max(0.0, rise) / scatter_)};
  }
  double value(const std::vector<double>& p) const;

  const PreparedModel& model_;
  PulledData& data_;
  const FitResult& fit_;
  FitOptions options_;
  double width_, scatter_, t_;
  HeldStarts starts_;
  std::vector<Column> columns_;
};

double PulledProfile::value(const std::vector<double>& p) const {
  std::vector<double> row;
  for (const std::vector<double>& column : data_.x) row.push_back(column.back());
  const PreparedModel::Impl& impl = model_.impl();
  return impl.formula ? impl.formula->evaluate(row, p) : impl.function->value(row.data(), p);
}

// Moves the target outward until τ reaches t. Where h is linear and the errors are small, τ = u/2 for a
// target u standard errors away. Returns false if there is no such target, with the reason in `end`.
bool bracket(PulledProfile& profile, ProfilePoint& inside, ProfilePoint& outside, double step, double t,
             int& most, ProfileEnd& end) {
  const double from = inside.at;
  for (double u = 2 * t; --most >= 0;) {
    const ProfilePoint next = profile.at(from + u * step);
    if (std::isnan(next.tau)) {  // the model may be undefined this far out, so halve the distance
      const double reached = (inside.at - from) / step;
      u = 0.5 * (reached + u);
      if (u - reached <= 1e-9 * u) return false;
      continue;
    }
    if (next.tau >= t) {
      outside = next;
      return true;
    }
    if (u >= kFarthestTarget) {  // h follows the target without end, or cannot follow it
      const bool follows = std::fabs(next.value - from) > 0.5 * std::fabs(next.at - from);
      end = follows ? ProfileEnd{step < 0 ? -kInfinity : kInfinity, IntervalEnd::unbounded}
                    : ProfileEnd{next.value, IntervalEnd::at_bound};
      return false;
    }
    inside = next;
    u = std::min(kFarthestTarget, u * std::clamp(next.tau > 0 ? 1.1 * t / next.tau : 3.0, 1.1, 10.0));
  }
  return false;
}

// Finds the h of the target at which τ = t.
ProfileEnd find_end(PulledProfile& profile, double estimate, double step, double t, int most) {
  constexpr double kClose = 1e-6;  // the end is as close, in standard errors
  ProfilePoint inside{estimate, estimate, 0}, outside;
  ProfileEnd end;
  if (!bracket(profile, inside, outside, step, t, most, end)) return end;
  return end_between(inside, outside, t, {kClose, 0, 1e-9, estimate}, most,
                     [&](double target) { return profile.at(target); });
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
  if (std::ranges::any_of(options.sigma_x, [](const Column& c) { return !c.empty(); }))
    refuse("not available with errors in x; use intervals from standard errors, or the bootstrap");
  if (!options.sigma_matrix.empty())
    refuse("not available with a covariance matrix of y; use intervals from standard errors");
  if (!fit.success()) refuse("the fit ended without a certified minimum");
  PulledScale out;
  out.scatter = options.absolute_sigma ? 1 : fit.chi2_reduced;
  if (!(out.scatter > 0) || fit.dof <= 0)
    refuse("without degrees of freedom, or with residuals of zero, there are no intervals");
  out.quantile = interval_quantile(fit, options, confidence);
  out.most_fits = most_fits;
  return out;
}

PulledInterval pulled_interval(const PreparedModel& model, PulledData data, const FitResult& fit,
                               const FitOptions& refit, const PulledScale& scale, double estimate,
                               double standard_error) {
  if (standard_error == 0)  // it depends on no fitted parameter
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
