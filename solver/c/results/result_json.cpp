// Writes the JSON and the report of each kind of result. The keys are those of nlsq-fit --json.
#include "c/errors.hpp"
#include "c/results/caller_result.hpp"

#include <nlsq/c/model.h>
#include <nlsq/json/fit.hpp>

#include <fmt/format.h>

#include <ranges>

namespace nlsq::inline v0::c {

namespace {

// Writes the member "time".
void time_json(JsonWriter& json, const TimeSummary& time) {
  json.key("time");
  json.object("setup", time.setup, "evaluate", time.evaluate, "solve", time.solve, "certify", time.certify,
              "total", time.total);
}

void columns_json(JsonWriter& json, const CurveResult& r) {
  std::vector<std::pair<const char*, std::string>> columns;
  for (const std::string& x : r.predictors) columns.emplace_back("x", x);
  columns.emplace_back("y", "y");
  if (!r.sigmas.empty()) columns.emplace_back("sigma", "sigma");
  json.list("columns", columns,
            [&](const auto& column) { json.object("role", column.first, "expression", column.second); });
}

std::string parameter_line(const std::string& name, double value, double error) {
  return fmt::format("  {:<12} {:>14.6g} ± {:.3g}\n", name, value, error);
}

}  // namespace

std::string CurveResult::make_json() const {
  JsonWriter json;
  json.begin_object();
  json.members("model", model, "formula", formula);
  parameters_json(json, fit, [&](std::size_t j) { return interval(j); });
  columns_json(json, *this);
  json.members("rows", fit.rows);
  statistics_json(json, fit, options.absolute_sigma);
  outcome_json(json, fit.summary);
  json.members("interrupted", fit.summary.termination == Termination::user_stop, "warnings", fit.warnings,
               "confidence", confidence, "intervals", "standard", "absolute_sigma", options.absolute_sigma);
  loss_json(json, fit);
  minima_json(json, fit.minima);
  summary_json(json, fit.summary, free_names(fit));
  time_json(json, fit.summary.time);
  json.end_object();
  return json.take() + "\n";
}

std::string CurveResult::make_report() const {
  std::string text = fmt::format("{}\n", formula.empty() ? model : formula);
  for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
    if (fit.fixed[j])
      text += fmt::format("  {:<12} {:>14.6g} (fixed)\n", fit.parameter_names[j], fit.parameters[j]);
    else text += parameter_line(fit.parameter_names[j], fit.parameters[j], fit.standard_errors[j]);
  }
  text += fmt::format("rows {}, degrees of freedom {}, cost {:.8g}, R² {:.6g}, reduced χ² {:.6g}\n", fit.rows,
                      fit.dof, fit.summary.final_cost, fit.r_squared, fit.chi2_reduced);
  for (const std::string& warning : fit.warnings) text += fmt::format("warning: {}\n", warning);
  return text + fit.summary.full_report();
}

std::string SolveResult::make_json() const {
  const std::size_t n = solved.x.size();
  std::vector<std::string> names;
  for (std::size_t j = 0; j < n; ++j) names.push_back(fmt::format("x[{}]", j));
  JsonWriter json;
  json.begin_object();
  json.list("parameters", std::views::iota(std::size_t{0}, n), [&](std::size_t j) {
    json.object("name", names[j], "value", solved.x[j], "std_error", solved.standard_errors[j], "active_mask",
                solved.active_mask[j]);
  });
  matrix_json(json, "covariance", n, [&](std::size_t i, std::size_t j) { return solved.covariance(i, j); });
  json.members("rows", rows, "cost", solved.cost);
  outcome_json(json, solved.summary);
  minima_json(json, solved.minima);
  summary_json(json, solved.summary, names);
  time_json(json, solved.summary.time);
  json.end_object();
  return json.take() + "\n";
}

std::string SolveResult::make_report() const {
  std::string text;
  for (std::size_t j = 0; j < solved.x.size(); ++j)
    text += parameter_line(fmt::format("x[{}]", j), solved.x[j], solved.standard_errors[j]);
  return text + solved.summary.full_report();
}

std::string ProblemResult::make_json() const {
  JsonWriter json;
  json.begin_object();
  json.members("cost", solved.final_cost, "initial_cost", solved.initial_cost);
  outcome_json(json, solved);
  json.members("step_solver", solved.step_solver);
  summary_json(json, solved, {});
  time_json(json, solved.time);
  json.end_object();
  return json.take() + "\n";
}

std::string ProblemResult::make_report() const { return solved.full_report(); }

std::string ManyResult::make_json() const {
  JsonWriter json;
  json.begin_object();
  json.members("parameter_names", batch.parameter_names, "certified", batch.certified, "threads",
               batch.threads);
  json.key("fits");
  json.begin_array();
  const std::size_t n = batch.parameter_names.size();
  for (std::size_t f = 0; f < batch.size(); ++f) {
    json.begin_object();
    json.members(
        "values", std::vector<double>(&batch.parameters.data()[f * n], &batch.parameters.data()[f * n] + n),
        "std_errors",
        std::vector<double>(&batch.standard_errors.data()[f * n], &batch.standard_errors.data()[f * n] + n),
        "cost", batch.cost[f], "decrement_sigma", batch.decrement_sigma[f], "status",
        status_word(batch.termination[f]), "verdict", name(batch.verdict[f]), "success",
        is_success(batch.verdict[f]));
    if (!is_success(batch.verdict[f])) json.members("message", message(f));
    json.members("iterations", batch.iterations[f]);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.take() + "\n";
}

std::string ManyResult::make_report() const {
  return fmt::format("{} fits of {}: {} certified\n", batch.size(), fmt::join(batch.parameter_names, ", "),
                     batch.certified);
}

std::string PredictionResult::make_json() const {
  const Prediction& p = prediction;
  JsonWriter json;
  json.object("confidence", p.confidence, "quantile", p.quantile, "fit", p.fit, "std_error", p.standard_error,
              "confidence_low", p.confidence_low, "confidence_high", p.confidence_high, "prediction_low",
              p.prediction_low, "prediction_high", p.prediction_high, "warnings", p.warnings);
  return json.take() + "\n";
}

std::string PredictionResult::make_report() const {
  return fmt::format("{} points with bands of {} %\n", prediction.size(), 100 * prediction.confidence);
}

}  // namespace nlsq::inline v0::c

extern "C" const char* nlsq_builtin_models_json() {
  return nlsq::c::text_or_null([&] {
    static const std::string all = nlsq::builtin_models_json();
    return all.c_str();
  });
}
