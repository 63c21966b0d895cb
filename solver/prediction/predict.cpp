// Implements predict(): the fitted curve with its bands, by the delta method.
#include <nlsq/prediction.hpp>

#include "prediction/delta_method.hpp"
#include "prediction/fitted_slopes.hpp"
#include "prediction/right_side.hpp"
#include "support/constants.hpp"
#include "support/fp_environment.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>

namespace nlsq::inline v0 {

namespace {

void check_sigma(const Column& sigma, std::size_t rows, const FitResult& fit, const FitOptions& options) {
  if (sigma.empty()) return;
  if (options.sigma.empty() && options.sigma_matrix.empty()) {
    throw ValidationError(
        fit.loss.is_counts()
            ? "prediction sigma: the standard deviation of a count is the root of the model; leave sigma out"
            : "prediction sigma: the fit had no sigma, so the scatter of an observation is that of the fit; "
              "leave sigma out, or fit with sigma");
  }
  if (sigma.size() != rows) {
    throw ValidationError(fmt::format(
        "prediction sigma has {} values, x has {} rows: give one for each row, or none", sigma.size(), rows));
  }
  for (std::size_t i = 0; i < rows; ++i) {
    if (sigma[i] > 0 && std::isfinite(sigma[i])) continue;
    throw ValidationError(fmt::format(
        "prediction sigma: row {} is {}; standard deviations must be positive and finite", i + 1, sigma[i]));
  }
}

// Returns the sigma of the data if it is the same in all rows.
std::optional<double> common_sigma(const FitOptions& options) {
  if (options.sigma.empty()) return std::nullopt;
  const double first = options.sigma[0];
  for (std::size_t i = 1; i < options.sigma.size(); ++i) {
    if (options.sigma[i] != first) return std::nullopt;
  }
  return first;
}

// Computes the variance of one new observation at a row where the model has the value f.
class Scatter {
 public:
  Scatter(const FitResult& fit, const FitOptions& options, const Column& sigma)
      : counts_(fit.loss.is_counts()), sigma_(sigma), factor_(options.absolute_sigma ? 1 : fit.chi2_reduced) {
    const bool weighted = !options.sigma.empty() || !options.sigma_matrix.empty();
    if (counts_) return;
    if (fit.loss.is_robust() && !options.absolute_sigma) {
      lack_ = fmt::format(
          "prediction band: not defined under loss {} without absolute sigma, since the scatter of the fit "
          "contains the outliers",
          fit.loss.name());
      factor_ = kNaN;
    } else if (weighted && sigma.empty()) {
      const std::optional<double> common = common_sigma(options);
      if (!common)
        lack_ = fmt::format("prediction band: not defined without the sigma of a new observation; {}",
                            options.sigma_matrix.empty() ? "the sigma of the data differs by row"
                                                         : "the data have a sigma_matrix");
      factor_ *= common ? *common * *common : kNaN;
    }
  }
  double operator()(std::size_t row, double f) const {
    if (counts_) return f;
    return sigma_.empty() ? factor_ : factor_ * sigma_[row] * sigma_[row];
  }
  const std::string& lack() const { return lack_; }

 private:
  bool counts_;
  const Column& sigma_;
  double factor_;
  std::string lack_;
};

constexpr std::size_t kRowsBetweenStops = 4096;  // rows between calls of PredictionOptions::stop

// Counts the rows of each state, and describes for each state what is wrong and where it begins.
class Notes {
 public:
  void add(std::size_t row, const DeltaVariance& variance) {
    if (variance.state != DeltaState::known) count(states_[static_cast<std::size_t>(variance.state)], row);
    if (variance.held) count(held_, row);
  }
  // Counts a row whose standard error changes visibly if the differences take longer steps. `changed` is the
  // change, relative to the standard error.
  void add_change(std::size_t row, double changed) {
    if (!(changed > kVisible)) return;
    count(rough_, row);
    most_changed_ = std::max(most_changed_, changed);
  }
  std::vector<std::string> warnings(const FitResult& fit) const {
    std::vector<std::string> out;
    const auto say = [&](const Count& count, const char* text) {
      if (count.rows == 0) return;
      const std::string where =
          count.rows == 1 ? fmt::format("in row {}", count.first + 1)
                          : fmt::format("in {} rows, the first of which is {}", count.rows, count.first + 1);
      out.push_back(fmt::format("bands: {} {}", where, text));
    };
    if (!fit.success())
      out.emplace_back("bands: the fit ended without a certified minimum, so they may not describe the data");
    say(of(DeltaState::not_finite), "the model or a derivative is not finite there, and there is no band");
    say(of(DeltaState::no_scatter),
        fit.dof <= 0 ? "there is no band, since there are as many parameters as rows of data"
                     : "there is no band, since the fit has no standard errors");
    say(of(DeltaState::undetermined),
        "there is no band, since the curve depends on a parameter that the data do not determine");
    say(of(DeltaState::lost_digits),
        "there is no band, since the parameters are so strongly correlated that rounding exceeds it; shift "
        "the origin of x, or write the model with less correlated parameters");
    say(held_, kHeldBand);
    say(rough_,
        fmt::format("may be wrong by {:.0f} % and more: the model is only called, and rounding errors or "
                    "jumps hide its derivatives; subtract large constants from y, or write the model as "
                    "a template, so that it can be recorded",
                    100 * std::min(most_changed_, 1.0))
            .c_str());
    return out;
  }

 private:
  struct Count {
    std::size_t rows = 0, first = 0;
  };
  static void count(Count& count, std::size_t row) {
    if (count.rows++ == 0) count.first = row;
  }
  const Count& of(DeltaState state) const { return states_[static_cast<std::size_t>(state)]; }
  static constexpr double kVisible = 0.05;  // part of a standard error
  std::array<Count, 5> states_{};
  Count held_, rough_;
  double most_changed_ = 0;
};

// Computes variances of the curve, from the covariance of the fit if it has enough digits, otherwise from the
// data.
class Variances {
 public:
  Variances(const PreparedModel& model, const FitResult& fit, const FitOptions& options,
            const std::vector<Column>& data)
      : model_(model), fit_(fit), options_(options), data_(data), delta_(fit) {
    by_rows_ =
        !data.empty() && fit.loss.is_linear() && !has_x_errors(options) && options.sigma_matrix.empty();
    for (const Column& column : data) {
      if (column.size() == fit.rows && data.size() == static_cast<std::size_t>(model.predictors())) continue;
      throw ValidationError(
          fmt::format("prediction data: {} column(s), one of {} rows; the fit had {} predictor(s) of {} rows",
                      data.size(), column.size(), model.predictors(), fit.rows));
    }
  }
  DeltaVariance operator()(std::span<const double> gradient) {
    DeltaVariance out = delta_.variance(gradient);
    if (out.state != DeltaState::lost_digits || !by_rows_) return out;
    if (!factor_) factor_.emplace(model_, Columns(data_), fit_, options_, delta_);
    const double value = factor_->variance(gradient);
    if (std::isfinite(value)) out = {value, DeltaState::known, out.held};
    return out;
  }
  const DeltaMethod& delta() const { return delta_; }

 private:
  const PreparedModel& model_;
  const FitResult& fit_;
  const FitOptions& options_;
  const std::vector<Column>& data_;
  DeltaMethod delta_;
  bool by_rows_ = false;
  std::optional<RowFactor> factor_;
};

}  // namespace

Prediction predict(const PreparedModel& model, const Columns& x, const FitResult& fit,
                   const FitOptions& options, const PredictionOptions& prediction) {
  const FpEnvironment environment;
  check_confidence(prediction.confidence);
  check_model("prediction", model, fit);
  const FittedSlopes slopes = fitted_slopes(model, x, fit, options, true, prediction);
  const Evaluation& at = slopes.at;
  const std::size_t rows = at.values.size(), n = fit.parameters.size();
  check_sigma(prediction.sigma, rows, fit, options);

  Prediction out;
  out.confidence = prediction.confidence;
  out.quantile = interval_quantile(fit, options, prediction.confidence);
  out.fit = at.values;
  for (auto* column : {&out.standard_error, &out.confidence_low, &out.confidence_high, &out.prediction_low,
                       &out.prediction_high})
    column->assign(rows, kNaN);
  Variances variances(model, fit, options, prediction.data);
  const Scatter scatter(fit, options, prediction.sigma);
  Notes notes;
  for (std::size_t i = 0; i < rows; ++i) {
    if (i % kRowsBetweenStops == 0 && prediction.stop && prediction.stop()) break;
    const double f = at.values[i];
    DeltaVariance variance{kNaN, DeltaState::not_finite};
    if (std::isfinite(f)) variance = variances({at.jacobian.data() + i * n, n});
    notes.add(i, variance);
    if (slopes.change.rows() > 0) {
      const double change = variances.delta().variance({slopes.change.data() + i * n, n}).value;
      if (change > 0) notes.add_change(i, std::sqrt(change / variance.value));
    }
    const double half = out.quantile * std::sqrt(variance.value);
    const double whole = out.quantile * std::sqrt(variance.value + scatter(i, f));
    out.standard_error[i] = std::sqrt(variance.value);
    out.confidence_low[i] = f - half;
    out.confidence_high[i] = f + half;
    out.prediction_low[i] = fit.loss.is_counts() && f - whole < 0 ? 0 : f - whole;
    out.prediction_high[i] = f + whole;
  }
  out.warnings = notes.warnings(fit);
  if (!scatter.lack().empty()) out.warnings.push_back(scatter.lack());
  return out;
}

}  // namespace nlsq::inline v0
