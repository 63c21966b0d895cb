// Defines the functions of intervals.h: intervals by profile likelihood, and quantities derived from
// parameters.
#include "c/caller_fit.hpp"
#include "c/errors.hpp"
#include "c/results/table_result.hpp"
#include "prediction/right_side.hpp"
#include "support/fp_environment.hpp"

#include <nlsq/c/intervals.h>
#include <nlsq/derived.hpp>
#include <nlsq/profile_intervals.hpp>

#include <fmt/format.h>

#include <cmath>
#include <memory>

namespace nlsq::inline v0::c {

namespace {

nlsq_result* profile_call(CurveCall& call, const CurveResult& of, const char* parameters, double confidence) {
  check_rows(call, of);
  const Refit refit = [&](const std::vector<double>& start, const FitOptions& changed) {
    if (call.options.stop_wanted()) throw CallbackStopped("the intervals were cancelled", 0);
    return fit_model(call.model, call.x, call.y, refit_start(of.fit, start), changed,
                     call.options.differences);
  };
  IntervalOptions wanted;
  wanted.confidence = std::isnan(confidence) ? of.confidence : confidence;
  if (parameters != nullptr) wanted.parameters = listed(parameters, ',');
  const ProfileIntervals profile = profile_intervals_by(refit, of.fit, call.fit, wanted);

  const auto table = std::make_shared<TableResult>(wanted.confidence);
  table->add("threshold", profile.threshold);
  using I = ProfileInterval;
  add_column(*table, "parameter_names", profile.intervals, &I::parameter);
  add_column(*table, "estimate", profile.intervals, &I::estimate);
  add_column(*table, "ci_low", profile.intervals, &I::lower);
  add_column(*table, "ci_high", profile.intervals, &I::upper);
  add_column(*table, "ends_low", profile.intervals, [](const I& i) { return name(i.lower_end); });
  add_column(*table, "ends_high", profile.intervals, [](const I& i) { return name(i.upper_end); });
  add_column(*table, "fits", profile.intervals, &I::fits);
  table->add("better", profile.better);
  return table->finish(table);
}

nlsq_result* derive_call(const CurveResult& of, std::string_view texts, double confidence) {
  const FpEnvironment environment;
  DeriveOptions wanted;
  wanted.confidence = std::isnan(confidence) ? of.confidence : confidence;
  const std::vector<DerivedQuantity> derived = derive(of.fit, listed(texts, '\n'), of.options, wanted);
  const auto table = std::make_shared<TableResult>(wanted.confidence);
  using D = DerivedQuantity;
  add_column(*table, "names", derived, &D::name);
  add_column(*table, "notes", derived, &D::note);
  add_column(*table, "value", derived, &D::value);
  add_column(*table, "std_error", derived, &D::standard_error);
  add_column(*table, "ci_low", derived, &D::ci_low);
  add_column(*table, "ci_high", derived, &D::ci_high);
  return table->finish(table);
}

std::shared_ptr<const CurveResult> curve_result(const nlsq_result* handle) {
  auto curve = std::dynamic_pointer_cast<const CurveResult>(from_handle<Result>(handle));
  if (!curve) throw ArgumentError("fit: it is not the result of a curve fit");
  return curve;
}

}  // namespace

void check_rows(const CurveCall& call, const CurveResult& of) {
  if (call.y.size() == of.fit.rows) return;
  throw DataError(
      fmt::format("y has {} rows, and the fit was of {}: give its data", call.y.size(), of.fit.rows));
}

std::shared_ptr<const CurveResult> fit_of(const nlsq_result* handle, const CallerModel& model) {
  auto of = curve_result(handle);
  // A callback may be the function of which the fitted tape is a recording.
  const bool other_formula = !model.is_callback() && of->formula != model.formula;
  if (other_formula || of->fit.parameter_names != model.parameters) {
    throw ArgumentError(
        fmt::format("fit: it is a result of the model '{}' ({}), and this model is '{}' ({}): give the model "
                    "that was fitted",
                    of->formula, fmt::join(of->fit.parameter_names, ", "), model.formula,
                    fmt::join(model.parameters, ", ")));
  }
  return of;
}

}  // namespace nlsq::inline v0::c

using namespace nlsq::c;

extern "C" {

int nlsq_model_profile_intervals(const nlsq_model* model, const nlsq_column* x, size_t predictors,
                                 const nlsq_column* y, const nlsq_result* fit, const char* parameters,
                                 double confidence, const nlsq_options* options, nlsq_result** intervals) {
  return output(intervals, "intervals", [&] {
    const auto object = from_handle<CallerModel>(model);
    const auto set = options_of(options);
    CurveCall call(*object, x, predictors, y, *set);
    return profile_call(call, *fit_of(fit, *object), parameters, confidence);
  });
}

int nlsq_result_derive(const nlsq_result* fit, const char* quantities, double confidence,
                       nlsq_result** derived) {
  return output(derived, "derived", [&] {
    return derive_call(*curve_result(fit), required(quantities, "quantities"), confidence);
  });
}

}  // extern "C"
