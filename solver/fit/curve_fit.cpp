// Implements curve_fit() for callables, formulas and built-in models: checks the arguments and runs the fit.
#include <nlsq/curve_fit.hpp>

#include "dense/dense_evaluator.hpp"
#include "fit/curve.hpp"
#include "fit/fit_setup.hpp"
#include "fit/prepared_impl.hpp"
#include "fit/reads_beyond.hpp"
#include "models/model_families.hpp"
#include "models/recognise.hpp"
#include "support/fp_environment.hpp"

#include "rows/residual_sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

namespace nlsq::inline v0 {

namespace {

// Fits a formula. If `guessed`, parameters without a value in p0 have a value in `start` that was guessed
// from the data.
FitResult fit_formula(const Formula& given, SurveyedRows data, std::vector<double> start, bool guessed,
                      const NamedValues& p0, const FitOptions& options) {
  Ties ties(given.parameters, options.ties, options.fixed);
  check_starts(p0, given.parameters, ties);
  ties.apply(start);
  std::optional<Formula> tied;
  if (!ties.empty()) tied = ties.put_into(given);
  const Formula& formula = tied ? *tied : given;
  const Limits limits = limits_of(options.bounds, formula.parameters, ties);
  Curve curve = checked_curve(formula.parameters, std::move(start), limits, std::move(ties), std::move(data),
                              formula.predictors.size(), options);
  if (!guessed) curve.unstarted = without_start(formula.parameters, p0);
  curve.formula = &formula;
  fit_left_side(formula, curve);
  const std::vector<int> linear = linear_among_free(formula.graph, formula.model, curve.free);
  curve.jumps = jump_parameters(formula.graph, formula.model, curve.free);
  curve.is_even = [&formula](std::span<const int> flipped) {
    return is_even(formula.graph, formula.model, flipped);
  };
  curve.source_of = [&](const ResidualForm& form) {
    return std::make_shared<FormulaResidual>(formula, form);
  };
  curve.rows_of = [&](const ResidualForm& form) {
    return std::make_unique<GraphRows>(curve.source_of(form), curve.data, curve.start, curve.free);
  };
  const std::shared_ptr<RowModel> rows = curve.rows_of(curve.form);
  FitResult fit = fit_rows(curve, *rows, linear);
  if (std::string note = note_on_constants(given, p0, options); !note.empty())
    fit.warnings.insert(fit.warnings.begin(), std::move(note));
  return fit;
}

std::vector<double> formula_start(const Formula& formula, const NamedValues& p0, const FitOptions& options) {
  const Limits limits = limits_of(options.bounds, formula.parameters);
  return starting_values(formula.parameters, p0, default_start(formula.parameters.size(), limits), limits);
}

// Starts from the model's first guess, except for parameters with a value in p0. `known` converts the guess
// if the formula is the model in another notation. The guess ignores numbers that are not finite. So it need
// not wait for the survey, which rejects them in the first pass of the fit.
FitResult fit_from_guess(const Formula& formula, const Model& model, const guessing::Recognised* known,
                         const Columns& x, const Column& y, const NamedValues& p0,
                         const FitOptions& options) {
  SurveyedRows data = surveyed_rows(x, y, options, formula.predictors);
  const Limits limits = limits_of(options.bounds, formula.parameters);
  const Ties ties(formula.parameters, options.ties, options.fixed);
  const guessing::StartRule rule{&formula, known, [&](const std::vector<double>& guess) {
                                   return starting_values(formula.parameters, p0, guess, limits, ties);
                                 }};
  std::vector<double> start(formula.parameters.size(), 1.0);
  std::string warning;
  if (p0.size() < formula.parameters.size())
    start = rule.converted(guessed_start(model, x, y, options.sigma, options.loss, rule, warning));
  start = rule.impose(start);
  FitResult fit = fit_formula(formula, std::move(data), std::move(start), true, p0, options);
  if (!warning.empty()) fit.warnings.insert(fit.warnings.begin(), warning);
  add_warning(fit, warning_of_fixed_guesses(options.fixed, p0));
  return fit;
}

FitResult fit_callable(const ModelFunction& given, SurveyedRows data, const std::vector<double>& p0,
                       const FitOptions& options) {
  refuse_no_parameters(p0);
  std::vector<std::string> names = options.parameter_names;
  for (std::size_t j = names.size(); j < p0.size(); ++j) names.push_back(fmt::format("p{}", j));
  if (names.size() != p0.size()) {
    throw ValidationError(
        fmt::format("{} parameter names were given for {} starting values", names.size(), p0.size()));
  }
  Ties ties(names, options.ties, options.fixed);
  const ModelFunction function = ties.put_into(given);
  const Limits limits = limits_of(options.bounds, names, ties);
  std::vector<double> start = starting_values(names, named_values(names, p0), p0, limits);
  ties.apply(start);
  Curve curve = checked_curve(names, std::move(start), limits, std::move(ties), std::move(data),
                              static_cast<std::size_t>(function.predictors), options);
  if (curve.data->rows() > 0) refuse_reads_beyond(given, *curve.data, curve.start);
  if (!function.trace) return fit_fallback(function, curve, why_not_recorded(function.dual != nullptr));
  const auto residual = std::make_shared<RecordedResidual>(function, static_cast<int>(p0.size()), curve.form);
  std::string note;
  try {
    if (record(*residual, *curve.data, curve.start, curve.survey.get())) {
      Graph graph;
      const NodeId model = residual->build_model(graph);
      curve.source_of = [&](const ResidualForm& form) {
        return std::make_shared<RecordedResidual>(*residual, form);
      };
      curve.rows_of = [&](const ResidualForm& form) {
        return std::make_unique<GraphRows>(curve.source_of(form), curve.data, curve.start, curve.free);
      };
      curve.is_even = [&](std::span<const int> flipped) {
        Graph now;  // with the branches that the fit has entered since
        const NodeId root = residual->build_model(now);
        return is_even(now, root, flipped);
      };
      curve.jumps = jump_parameters(graph, model, curve.free);
      GraphRows rows(residual, curve.data, curve.start, curve.free);
      FitResult fit = fit_rows(curve, rows, linear_among_free(graph, model, curve.free));
      if (fit.summary.certificate.recheck_passed || fit.summary.termination == Termination::failure)
        return fit;
      note = kRecordingDiscarded;
    } else {
      note = "the callable could not be recorded: " + residual->reason();
    }
  } catch (const RecordingFailed& failed) {
    note = std::string(failed.what()) + (residual->reason().empty() ? "" : ": " + residual->reason());
  }
  return fit_fallback(function, curve, note);
}

}  // namespace

std::string warning_of_fixed_guesses(const std::vector<std::string>& fixed, const NamedValues& p0) {
  std::vector<std::string> guessed;
  std::ranges::copy_if(fixed, std::back_inserter(guessed),
                       [&](const std::string& name) { return !has_value(p0, name); });
  if (guessed.empty()) return {};
  return fmt::format(
      "{} {} fixed at a first guess from the data, and standard errors take it as known: fix at a value",
      fmt::join(guessed, ", "), guessed.size() == 1 ? "is" : "are");
}

FitResult curve_fit(const Formula& formula, const Columns& x, const Column& y, const NamedValues& p0,
                    const FitOptions& options) {
  const FpEnvironment environment;
  check_options(options);
  // A formula that equals a built-in model gets that model's guess.
  if (p0.size() < formula.parameters.size()) {
    if (const guessing::Recognised known = guessing::recognise(formula); known.model)
      return fit_from_guess(formula, *known.model, &known, x, y, p0, options);
  }
  SurveyedRows data = surveyed_rows(x, y, options, formula.predictors);
  return fit_formula(formula, std::move(data), formula_start(formula, p0, options), false, p0, options);
}

FitResult curve_fit(std::string_view formula, const Columns& x, const Column& y, const NamedValues& p0,
                    const FitOptions& options) {
  const FpEnvironment environment;  // also for the numbers in the formula
  return curve_fit(formula_of_columns(formula, x.size()), x, y, p0, options);
}

FitResult curve_fit(const Model& model, const Columns& x, const Column& y, const NamedValues& p0,
                    const FitOptions& options) {
  const FpEnvironment environment;
  check_options(options);
  const Formula formula = guessing::formula_of(model);
  FitResult fit = fit_from_guess(formula, model, nullptr, x, y, p0, options);
  add_warning(fit, guessing::pole_warning(model, fit.parameters, x.list().front()));
  return fit;
}

FitResult curve_fit(const PreparedModel& model, const Columns& x, const Column& y, const NamedValues& p0,
                    const FitOptions& options) {
  const FpEnvironment environment;
  return fit_prepared(model.impl(), x, y, p0, options);
}

FitResult curve_fit(const PreparedModel& model, const Columns& x, const Column& y,
                    const std::vector<double>& p0, const FitOptions& options) {
  const FpEnvironment environment;
  return fit_prepared(model.impl(), x, y, named_start(model.parameter_names(), p0), options);
}

FitResult curve_fit(const ModelFunction& model, const Columns& x, const Column& y,
                    const std::vector<double>& p0, const FitOptions& options) {
  const FpEnvironment environment;
  check_options(options);
  const auto predictors = predictor_options(static_cast<std::size_t>(model.predictors)).predictors;
  return fit_callable(model, surveyed_rows(x, y, options, predictors), p0, options);
}

FitResult curve_fit(const ModelFunction& model, std::shared_ptr<const RowSource> rows,
                    const std::vector<double>& p0, const FitOptions& options) {
  const FpEnvironment environment;
  check_options(options);
  const auto predictors = predictor_options(static_cast<std::size_t>(model.predictors)).predictors;
  return fit_callable(model, surveyed_rows(std::move(rows), options, predictors), p0, options);
}

FitResult curve_fit(const Formula& formula, std::shared_ptr<const RowSource> rows, const NamedValues& p0,
                    const FitOptions& options) {
  const FpEnvironment environment;
  check_options(options);
  SurveyedRows data = surveyed_rows(std::move(rows), options, formula.predictors);
  return fit_formula(formula, std::move(data), formula_start(formula, p0, options), false, p0, options);
}

}  // namespace nlsq::inline v0
