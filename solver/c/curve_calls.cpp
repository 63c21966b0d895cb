// Implements the functions of fit.h that fit or certify a single curve.
#include "c/caller_fit.hpp"
#include "c/errors.hpp"
#include "expression/names.hpp"
#include "fit/fit_setup.hpp"
#include "fit/fit_statistics.hpp"
#include "fit/prepared_impl.hpp"
#include "fit/reads_beyond.hpp"
#include "support/fp_environment.hpp"

#include <nlsq/c/fit.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0::c {

namespace {

// Adds the guess of a formula that is equivalent to a built-in model, for parameters that p0 leaves out.
NamedValues with_guess(const CallerModel& model, const Columns& x, const Column& y, NamedValues p0,
                       const FitOptions& options, std::string& warning) {
  if (p0.size() >= model.parameters.size() || model.recognised().model == nullptr) return p0;
  const Limits limits = limits_of(options.bounds, model.parameters);
  const Ties ties(model.parameters, options.ties, options.fixed);
  const auto impose = [&](const std::vector<double>& guess) {
    return starting_values(model.parameters, p0, guess, limits, ties);
  };
  const std::vector<double> guess = model.guess(x, y, options.sigma, options.loss, impose, warning);
  for (std::size_t j = 0; j < model.parameters.size(); ++j) {
    const std::string& name = model.parameters[j];
    if (!is_tied(options.ties, name) && !has_value(p0, name))
      p0.emplace_back(name, limits.nearest(j, guess[j]));
  }
  return p0;
}

// Checks the number of columns before any of them is read.
std::size_t checked_predictors(const CallerModel& model, std::size_t predictors) {
  if (predictors != model.predictors.size()) {
    throw DataError(fmt::format("the model has {} predictor(s), {} column(s) of x were given",
                                model.predictors.size(), predictors));
  }
  return predictors;
}

}  // namespace

CurveCall::CurveCall(const CallerModel& m, const nlsq_column* given_x, std::size_t count,
                     const nlsq_column* given_y, const Options& o)
    : model(m), options(o), x(columns.views(given_x, checked_predictors(m, count), "x")),
      y(columns.view(*required(given_y, "y"), "y")),
      fit(o.curve_options(m.parameters, m.predictors.size(), columns)) {}

FitResult fit_model(const CallerModel& model, const Columns& x, const Column& y, const NamedValues& p0,
                    const FitOptions& options, Differences differences) {
  if (model.is_callback()) return fit_callback(model, y, p0, options, differences);
  std::string warning;
  const NamedValues start = with_guess(model, x, y, p0, options, warning);
  FitResult fit = curve_fit(*model.prepared, x, y, start, options);
  if (!warning.empty()) fit.warnings.insert(fit.warnings.begin(), warning);
  if (!model.note.empty()) fit.warnings.insert(fit.warnings.begin(), model.note);
  // With ties curve_fit() fits the formula itself, and adds this warning.
  if (const auto& formula = model.prepared->impl().formula; formula && options.ties.empty()) {
    if (std::string note = note_on_constants(*formula, p0, options); !note.empty())
      fit.warnings.insert(fit.warnings.begin(), std::move(note));
  }
  return fit;
}

namespace {

std::vector<double> sigma_pattern(const FitOptions& fit) {
  if (!fit.sigma_matrix.empty()) return {1, 2};
  if (fit.sigma.empty()) return {};
  for (std::size_t i = 1; i < fit.sigma.size(); ++i) {
    if (fit.sigma[i] != fit.sigma[0]) return {fit.sigma[0], fit.sigma[i]};
  }
  return {fit.sigma[0]};
}

void keep_residuals(const CurveCall& call, CurveResult& result) {
  const std::size_t rows = call.y.size();
  result.has_residuals = true;
  result.fitted.resize(rows);
  evaluate_model(call.model, call.x, rows, result.fit.parameters, Options(), result.fitted.data(), nullptr);
  const bool is_formula = call.model.prepared && call.model.prepared->impl().formula;
  if (is_formula) {  // its response may be a function of y
    result.residuals = responses_of(*call.model.prepared->impl().formula, call.x, call.y);
  } else {
    result.residuals.resize(rows);
    call.y.read(0, rows, result.residuals.data());
  }
  for (std::size_t i = 0; i < rows; ++i) result.residuals[i] = result.fitted[i] - result.residuals[i];
}

nlsq_result* result_of(CurveCall& call, FitResult fit) {
  auto result = std::make_shared<CurveResult>();
  result->fit = std::move(fit);
  result->model = call.model.name;
  result->formula = call.model.formula;
  result->predictors = call.model.predictors;
  result->confidence = call.options.confidence;
  result->sigmas = sigma_pattern(call.fit);
  result->options = call.options.fit;
  result->options.sigma_matrix = {};
  result->options.fixed = call.fit.fixed;
  result->options.loss = call.fit.loss;
  if (call.options.residuals) keep_residuals(call, *result);
  return to_handle<nlsq_result>(std::move(result));
}

// Returns the starting values, and those that the option fix gives.
NamedValues all_starts(const Options& options, NamedValues p0) {
  for (auto& [name, value] : options.fixed_values()) {
    if (has_value(p0, name))
      throw ValidationError(fmt::format("fix: {} has a starting value, too: leave one of both out", name));
    p0.emplace_back(name, value);
  }
  return p0;
}

NamedValues starts_in_order(const CallerModel& model, const Options& options, const double* p0) {
  NamedValues named;
  const NamedValues fixed = options.fixed_values();
  for (std::size_t j = 0; j < model.parameters.size() && p0 != nullptr; ++j) {
    if (!std::isnan(p0[j]) && !has_value(fixed, model.parameters[j]))
      named.emplace_back(model.parameters[j], p0[j]);
  }
  return all_starts(options, std::move(named));
}

nlsq_result* fit_call(const CallerModel& model, const nlsq_column* x, std::size_t predictors,
                      const nlsq_column* y, const NamedValues& p0, const Options& options) {
  const FpEnvironment environment;
  CurveCall call(model, x, predictors, y, options);
  const bool recheck = model.recheck.function != nullptr;
  const auto check = [&](const std::vector<double>& p, const char* when) {
    if (recheck) recheck_model(model, call.x, call.y.size(), p, options.recheck_tolerance, when);
  };
  std::vector<double> start(model.parameters.size(), 1.0);
  for (std::size_t j = 0; j < start.size(); ++j) {
    const auto given = std::ranges::find(p0, model.parameters[j], &NamedValues::value_type::first);
    if (given != p0.end()) start[j] = given->second;
  }
  if (recheck) limits_of(call.fit.bounds, model.parameters);  // reports mistakes before the first call
  check(start, "start");
  FitResult fit = fit_model(model, call.x, call.y, p0, call.fit, options.differences);
  check(fit.parameters, "end");
  return result_of(call, std::move(fit));
}

nlsq_result* certify_call(const CallerModel& model, const nlsq_column* x, std::size_t predictors,
                          const nlsq_column* y, const double* p, const Options& options) {
  const FpEnvironment environment;
  CurveCall call(model, x, predictors, y, options);
  const NamedValues given = starts_in_order(model, options, required(p, "p"));
  for (const auto& [name, value] : options.fixed_values()) {
    const double of_point = p[parameter_index(model.parameters, name, "fix")];
    if (!std::isnan(of_point) && of_point != value)
      throw ValidationError(fmt::format("certify: {} is {}, and fix holds it at {}: leave one of both out",
                                        name, of_point, value));
  }
  check_values_to_judge(model.parameters, given, call.fit.ties);
  FitResult fit =
      judged(fit_model(model, call.x, call.y, given, without_steps(call.fit), options.differences));
  return result_of(call, std::move(fit));
}

}  // namespace

}  // namespace nlsq::inline v0::c

using namespace nlsq::c;

extern "C" {

int nlsq_curve_fit(const char* model, const nlsq_column* x, size_t predictors, const nlsq_column* y,
                   const char* starts, const nlsq_options* options, nlsq_result** result) {
  return output(result, "result", [&] {
    const auto text = cached_model(required(model, "model"), predictors);
    const auto set = options_of(options);
    const nlsq::NamedValues p0 = all_starts(*set, parsed_values("starts", starts == nullptr ? "" : starts));
    return fit_call(*text, x, predictors, y, p0, *set);
  });
}

int nlsq_model_fit(const nlsq_model* model, const nlsq_column* x, size_t predictors, const nlsq_column* y,
                   const double* p0, const nlsq_options* options, nlsq_result** result) {
  return output(result, "result", [&] {
    const auto object = from_handle<CallerModel>(model);
    const auto set = options_of(options);
    return fit_call(*object, x, predictors, y, starts_in_order(*object, *set, p0), *set);
  });
}

int nlsq_model_certify(const nlsq_model* model, const nlsq_column* x, size_t predictors, const nlsq_column* y,
                       const double* p, const nlsq_options* options, nlsq_result** result) {
  return output(result, "result", [&] {
    return certify_call(*from_handle<CallerModel>(model), x, predictors, y, p, *options_of(options));
  });
}

}  // extern "C"
