// Implements intervals by profile likelihood for functions of the parameters.
#include "prediction/pulled_profile.hpp"

#include <nlsq/evaluate.hpp>

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

// The first width of the row that pulls, and the least, in standard errors of h. With the first, fits are
// still well conditioned.
constexpr double kWidth = 0.01, kLeastWidth = 1e-5;

class PulledProfile {
 public:
  PulledProfile(const PreparedModel& model, PulledData& data, const FitResult& fit, const FitOptions& refit,
                double width, double scatter, double t)
      : model_(model), data_(data), fit_(fit), options_(refit), first_width_(width), width_(width),
        scatter_(scatter), t_(t), starts_(fit.parameters), columns_(data.x.begin(), data.x.end()) {
    set_width(width);
    options_.sampling = Sampling::never;  // samples would miss the row that pulls
  }

  // For EndSearch. The place of h is its target.
  static constexpr ProfileTolerance kTolerance{1e-6, 0, 1e-9};
  static constexpr double kFarthest = 1e5;
  ProfilePoint at(double target) {
    const std::optional<Pulled> lowest =
        starts_.lowest(t_, [&](const std::vector<double>& start) { return pulled_to(target, start); });
    return lowest ? ProfilePoint{0, lowest->h, lowest->tau} : ProfilePoint{0, kNaN, kNaN};
  }
  // Makes the pull stronger. Where the distance between h and its target is shorter by the square of the
  // widths, h remains where it is.
  double narrow() {
    const double before = width_;
    set_width(std::max(0.1 * width_, kLeastWidth / kWidth * first_width_));
    return width_ * width_ / (before * before);
  }
  bool is_limited(double way) const {
    constexpr double kPart = 1e-3, kMoved = 1e-6;  // of the standard errors of a parameter, and of h
    std::vector<double> p = starts_.nearest();
    const double here = value(p), error = first_width_ * std::sqrt(scatter_) / kWidth;
    for (std::size_t j = 0; j < p.size(); ++j) {
      const double number = p[j], step = kPart * fit_.standard_errors[j];
      if (!(step > 0) || is_tied(fit_, j)) continue;
      for (const double sign : {1.0, -1.0}) {
        p[j] = number + sign * step;
        if (way * (value(p) - here) > kMoved * error) return false;
      }
      p[j] = number;
    }
    return true;
  }
  void start_again() {
    starts_ = HeldStarts(fit_.parameters);
    set_width(first_width_);
  }

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
    const std::vector<double> values =
        evaluate(model_, Columns(columns_), pulled.parameters, PrecisionPolicy::all_f64()).values;
    // The cost contains the row that pulls. Far from its target that row would hide all others.
    double squares = 0;
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {
      const double residual = (values[i] - data_.y[i]) / data_.sigma[i];
      squares += residual * residual;
    }
    const double least = 2 * fit_.summary.final_cost, rise = squares - least;
    if (rise < -kLowerCost * least) better_found = true;
    return Pulled{pulled.parameters, values.back(), std::sqrt(std::max(0.0, rise) / scatter_)};
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
  const double width = kWidth * standard_error / std::sqrt(scale.scatter);
  PulledProfile profile(model, data, fit, refit, width, scale.scatter, scale.quantile);
  const auto end = [&](int direction) {
    const double step = direction * scale.quantile * standard_error;
    return EndSearch(profile, estimate, step, scale.quantile, direction * kInfinity, scale.most_fits).find();
  };
  const ProfileEnd low = end(-1);
  profile.start_again();
  const ProfileEnd high = end(1);
  return {low.at, high.at, low.how, high.how, profile.fits, profile.better_found};
}

}  // namespace nlsq::inline v0
