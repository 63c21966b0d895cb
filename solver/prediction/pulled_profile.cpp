// Implements intervals by profile likelihood for functions of the parameters.
#include "prediction/pulled_profile.hpp"

#include "fit/prepared_impl.hpp"
#include "prediction/delta_method.hpp"
#include "support/constants.hpp"
#include "support/held_starts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <ranges>

namespace nlsq::inline v0 {

namespace {

constexpr double kClose = 1e-6;  // relative tolerance of τ - t; the end is as close, in standard errors
constexpr double kFarthestTarget = 1e5;  // largest distance of the target, in standard errors
constexpr double kLower = 1e-7;          // relative to the cost; smaller decreases are rounding

// A point of the profile. `tau` is the square root of the rise of 2 * cost over s²; NaN: the fit failed.
struct Point {
  double target, h, tau;
};

class Profile {
 public:
  Profile(const PreparedModel& model, PulledData& data, const FitResult& fit, const FitOptions& refit,
          double width, double scatter, double t)
      : model_(model), data_(data), fit_(fit), options_(refit), width_(width), scatter_(scatter), t_(t),
        starts_(fit.parameters), columns_(data.x.begin(), data.x.end()) {
    data_.sigma.back() = width;
    options_.sigma = data_.sigma;
    options_.sampling = Sampling::never;  // samples would miss the row that pulls
  }

  // The fit that is pulled to the target.
  Point at(double target) {
    const std::optional<Pulled> lowest =
        starts_.lowest(t_, [&](const std::vector<double>& start) { return pulled_to(target, start); });
    return lowest ? Point{target, lowest->h, lowest->tau} : Point{target, kNaN, kNaN};
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
    if (rise < -kLower * least) better_found = true;
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

double Profile::value(const std::vector<double>& p) const {
  std::vector<double> row;
  for (const std::vector<double>& column : data_.x) row.push_back(column.back());
  const PreparedModel::Impl& impl = model_.impl();
  return impl.formula ? impl.formula->evaluate(row, p) : impl.function->value(row.data(), p);
}

struct End {
  double at = kNaN;
  IntervalEnd how = IntervalEnd::failed;
};

// Moves the target outward until τ reaches t. Where h is linear and the errors are small, τ = u/2 for a
// target u standard errors away. Returns false if there is no such target, with the reason in `end`.
bool bracket(Profile& profile, Point& inside, Point& outside, double step, double t, int& most, End& end) {
  const double from = inside.target;
  for (double u = 2 * t; --most >= 0;) {
    const Point next = profile.at(from + u * step);
    if (std::isnan(next.tau)) {  // the model may be undefined this far out, so halve the distance
      const double reached = (inside.target - from) / step;
      u = 0.5 * (reached + u);
      if (u - reached <= 1e-9 * u) return false;
      continue;
    }
    if (next.tau >= t) {
      outside = next;
      return true;
    }
    if (u >= kFarthestTarget) {  // h follows the target without end, or cannot follow it
      const bool follows = std::fabs(next.h - from) > 0.5 * std::fabs(next.target - from);
      end = follows ? End{step < 0 ? -kInfinity : kInfinity, IntervalEnd::unbounded}
                    : End{next.h, IntervalEnd::at_bound};
      return false;
    }
    inside = next;
    u = std::min(kFarthestTarget, u * std::clamp(next.tau > 0 ? 1.1 * t / next.tau : 3.0, 1.1, 10.0));
  }
  return false;
}

// Finds the target at which τ = t by the Illinois rule (Dowell and Jarratt, BIT 11, 1971).
End find_end(Profile& profile, double estimate, double step, double t, int most) {
  Point inside{estimate, estimate, 0}, outside{};
  End end;
  if (!bracket(profile, inside, outside, step, t, most, end)) return end;
  double f_inside = inside.tau - t, f_outside = outside.tau - t;
  int side = 0;
  while (outside.tau - t > kClose * t &&
         std::fabs(outside.target - inside.target) > 1e-9 * std::fabs(outside.target - estimate)) {
    if (--most < 0) return {};
    const Point middle =
        profile.at((inside.target * f_outside - outside.target * f_inside) / (f_outside - f_inside));
    if (std::isnan(middle.tau)) return {};
    if (std::fabs(middle.tau - t) <= kClose * t) return {middle.h, IntervalEnd::found};
    const bool below = middle.tau < t;
    (below ? inside : outside) = middle;
    (below ? f_inside : f_outside) = middle.tau - t;
    if (below && side == -1) f_outside *= 0.5;
    if (!below && side == 1) f_inside *= 0.5;
    side = below ? -1 : 1;
  }
  return {outside.h, IntervalEnd::found};
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
  Profile profile(model, data, fit, refit, width, scale.scatter, scale.quantile);
  const End low = find_end(profile, estimate, -standard_error, scale.quantile, scale.most_fits);
  profile.start_again();
  const End high = find_end(profile, estimate, standard_error, scale.quantile, scale.most_fits);
  return {low.at, high.at, low.how, high.how, profile.fits, profile.better_found};
}

}  // namespace nlsq::inline v0
