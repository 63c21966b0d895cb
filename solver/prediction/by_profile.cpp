// Implements predict_by_profile() and derive_by_profile().
#include <nlsq/derived.hpp>
#include <nlsq/prediction.hpp>

#include "fit/prepared_impl.hpp"
#include "prediction/delta_method.hpp"
#include "prediction/derived_expressions.hpp"
#include "prediction/fitted_slopes.hpp"
#include "prediction/pulled_profile.hpp"
#include "support/constants.hpp"
#include "support/fp_environment.hpp"
#include "support/parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace nlsq::inline v0 {

namespace {

constexpr const char* kBetter =
    "a fit with the value held found a lower cost than the fit: try other starting values";

// Describes the ends at which the cost does not rise by the threshold; empty if it does at both.
std::string note_of(const PulledInterval& interval) {
  if (interval.better_found) return kBetter;
  const auto end = [](const char* side, IntervalEnd how) -> std::string {
    switch (how) {
      case IntervalEnd::found: return "";
      case IntervalEnd::unbounded: return fmt::format("{} end: the data set no limit", side);
      case IntervalEnd::at_bound: return fmt::format("{} end: the model cannot go further", side);
      case IntervalEnd::failed: return fmt::format("{} end: the profile could not be followed", side);
    }
    return "";
  };
  const std::string low = end("lower", interval.low_end), high = end("upper", interval.high_end);
  return low + (low.empty() || high.empty() ? "" : "; ") + high;
}

// Returns the points of `at` as numbers.
std::vector<std::vector<double>> numbers(const Columns& at) {
  std::vector<std::vector<double>> out;
  for (const Column& column : at.list()) {
    out.emplace_back(column.size());
    column.read(0, column.size(), out.back().data());
  }
  return out;
}

// Returns a model that equals h in rows where a further predictor, the flag, is 1: if(flag, h, model).
PreparedModel with_quantity(const Formula& model, const std::vector<FormulaStep>& quantity) {
  Formula both = model;
  FormulaStep flag, choice;
  flag.op = Op::column;
  flag.index = static_cast<std::uint32_t>(model.predictors.size());
  choice.op = Op::select;
  std::vector<FormulaStep> steps{flag};
  steps.insert(steps.end(), quantity.begin(), quantity.end());
  steps.insert(steps.end(), model.steps.begin(), model.steps.end());
  steps.push_back(choice);
  both.predictors.emplace_back("(row of the quantity)");
  both.replace_model(std::move(steps));
  return PreparedModel(std::move(both));
}

// Returns standard errors as if parameters on bounds could move, because the profile lets them move. The
// width of the row that pulls comes from such an error. `errors` take parameters on bounds as fixed. They are
// returned unchanged if no parameter is on a bound. gradients() returns a matrix with a row for each error:
// the derivatives of its quantity by all parameters. An error that the data do not determine is NaN.
template <class Gradients>
std::vector<double> released_errors(const PreparedModel& model, const Columns& x, const FitResult& fit,
                                    const FitOptions& options, std::vector<double> errors,
                                    Gradients gradients) {
  if (std::ranges::count(fit.at_bound, true) == 0) return errors;
  FitResult released = fit;
  released.at_bound.assign(fit.at_bound.size(), false);
  const DeltaMethod delta(released);
  const RowFactor factor(model, x, released, options, delta);
  Matrix slopes = gradients();
  for (std::size_t k = 0; k < errors.size(); ++k)
    errors[k] = std::sqrt(factor.variance({&slopes(k, 0), slopes.columns()}));
  return errors;
}

// Replaces the confidence band by the intervals, and widens the prediction band on each side.
void take_intervals(const std::vector<PulledInterval>& intervals, Prediction& out) {
  std::size_t other = 0, first = 0;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const PulledInterval& interval = intervals[i];
    const auto widened = [&](double end, double delta, double whole) {  // the distance to the fit
      const double d = end - out.fit[i], scatter2 = whole * whole - delta * delta;
      return std::sqrt(d * d + scatter2);
    };
    const double half = out.confidence_high[i] - out.fit[i], whole = out.prediction_high[i] - out.fit[i];
    out.prediction_low[i] = out.fit[i] - widened(interval.low, half, whole);
    out.prediction_high[i] = out.fit[i] + widened(interval.high, half, whole);
    out.confidence_low[i] = interval.low;
    out.confidence_high[i] = interval.high;
    out.fits += interval.fits;
    if (interval.better_found && std::ranges::find(out.warnings, kBetter) == out.warnings.end())
      out.warnings.emplace_back(kBetter);
    const bool known = interval.low_end == IntervalEnd::found && interval.high_end == IntervalEnd::found;
    if (!known && !std::isnan(out.standard_error[i]) && other++ == 0) first = i;
  }
  for (std::string& warning : out.warnings) {  // of predict(), about the replaced bands
    if (warning.ends_with(kHeldBand)) {
      warning +=
          " in the standard errors and the width of the prediction band; the confidence band by profile "
          "lets it leave the bound";
    }
  }
  if (other > 0) {
    out.warnings.push_back(fmt::format("bands: in {} row{}, the first of which is {}: {}", other,
                                       other == 1 ? "" : "s", first + 1, note_of(intervals[first])));
  }
}

}  // namespace

Prediction predict_by_profile(const PreparedModel& model, const Columns& x, const Column& y,
                              const Columns& at, const FitResult& fit, const FitOptions& options,
                              const PredictionOptions& prediction) {
  const FpEnvironment environment;
  check_model("band by profile", model, fit);
  const PulledScale scale =
      pulled_scale("band by profile", fit, options, prediction.confidence, prediction.most_fits);
  PredictionOptions with_data = prediction;
  with_data.data = x.list();
  Prediction out = predict(model, at, fit, options, with_data);
  const RightSide right = right_side(model, x, y);
  const PulledData base = pulled_data(x, right.y, options);
  const FitOptions refit = refit_options(fit, options, prediction.stop);
  const std::vector<std::vector<double>> points = numbers(at);
  const std::vector<double> errors = released_errors(right.model, x, fit, options, out.standard_error, [&] {
    return fitted_slopes(right.model, at, fit, options).at.jacobian;
  });
  std::vector<PulledInterval> intervals(out.size());
  run_tasks(out.size(), threads_for(right, prediction), [&](std::size_t i) {
    PulledData data = base;
    for (std::size_t k = 0; k < points.size(); ++k) data.x[k].back() = points[k][i];
    intervals[i] = pulled_interval(right.model, std::move(data), fit, refit, scale, out.fit[i], errors[i]);
  });
  take_intervals(intervals, out);
  return out;
}

std::vector<DerivedQuantity> derive_by_profile(const PreparedModel& model, const Columns& x, const Column& y,
                                               const FitResult& fit, const std::vector<std::string>& texts,
                                               const FitOptions& options, const DeriveOptions& wanted) {
  const FpEnvironment environment;
  check_model("derived", model, fit);
  if (!model.impl().formula) {
    throw ValidationError(
        "derived: profile intervals need the model as a formula; use derive(), or the bootstrap");
  }
  const PulledScale scale =
      pulled_scale("derived by profile", fit, options, wanted.confidence, wanted.most_fits);
  std::vector<DerivedQuantity> out = derive(fit, texts, options, wanted);
  const DerivedExpressions expressions(fit.parameter_names, texts);
  const RightSide right = right_side(model, x, y);
  PulledData base = pulled_data(x, right.y, options);
  base.x.emplace_back(base.y.size(), 0.0).back() = 1;
  const FitOptions refit = refit_options(fit, options, wanted.stop);
  std::vector<double> held;
  for (const DerivedQuantity& q : out) held.push_back(q.standard_error);
  const std::vector<double> errors = released_errors(right.model, x, fit, options, std::move(held), [&] {
    Matrix all(out.size(), fit.parameters.size());
    double* to = all.data();
    for (const auto& gradient : expressions.gradients(fit.parameters))
      to = std::copy(gradient.begin(), gradient.end(), to);
    return all;
  });
  run_tasks(out.size(), wanted, [&](std::size_t k) {
    DerivedQuantity& q = out[k];
    if (q.note == kFlatNote) {
      q.ci_low = q.ci_high = kNaN;
      return;
    }
    const PulledInterval interval =
        pulled_interval(with_quantity(*right.model.impl().formula, expressions.steps(k)), base, fit, refit,
                        scale, q.value, errors[k]);
    q.ci_low = interval.low;
    q.ci_high = interval.high;
    q.fits = interval.fits;
    q.by_profile = true;
    const bool held = q.note == kHeldNote;
    if (held || q.note.empty()) q.note = note_of(interval);
    if (held && q.note.empty()) {
      q.note =
          "the standard error takes a parameter on a bound as fixed there; the interval by profile does not";
    }
  });
  return out;
}

}  // namespace nlsq::inline v0
