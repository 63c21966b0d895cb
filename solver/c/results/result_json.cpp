// Writes the JSON and the report of each kind of result. The keys are those of nlsq-fit --json
// (cli/report/json_report.cpp); tests/cli/test_c_interface_json.cpp compares the two.
#include "c/errors.hpp"
#include "c/results/caller_result.hpp"
#include "c/results/json_writer.hpp"

#include <nlsq/c/base.h>
#include <nlsq/c/model.h>
#include <nlsq/compare.hpp>
#include <nlsq/curve_fit.hpp>
#include <nlsq/models.hpp>
#include <nlsq/summary.hpp>

#include <fmt/format.h>

#include <ranges>

namespace nlsq::inline v0::c {

namespace {

// Writes a matrix of rows x rows numbers, which entry(i, j) returns.
template <class Entry>
void matrix_json(JsonWriter& json, std::string_view key, std::size_t rows, Entry entry) {
  json.key(key);
  json.begin_array();
  for (std::size_t i = 0; i < rows; ++i) {
    json.begin_array();
    for (std::size_t j = 0; j < rows; ++j) json.value(static_cast<double>(entry(i, j)));
    json.end_array();
  }
  json.end_array();
}

void certificate_json(JsonWriter& json, const Certificate& c, const std::vector<std::string>& free) {
  json.key("certificate");
  json.begin_object();
  json.members("passed", c.passed, "verdict", name(c.verdict), "governed_by", c.governed_by, "cost", c.cost,
               "gradient_norm", c.gradient_norm, "gradient_bound", c.gradient_bound, "decrement_sigma",
               c.decrement_sigma, "step", c.step, "last_step", c.last_step, "condition", c.condition, "rank",
               c.rank);
  std::vector<std::string> confounded;
  for (const int j : c.confounded) {
    if (static_cast<std::size_t>(j) < free.size()) confounded.push_back(free[static_cast<std::size_t>(j)]);
  }
  json.members("confounded", confounded, "covariance_error", c.covariance_error, "qr", c.qr, "rechecked_rows",
               c.rechecked_rows, "recheck_discrepancy", c.recheck_discrepancy, "recheck_passed",
               c.recheck_passed);
  json.end_object();
}

void counters_json(JsonWriter& json, const KernelCounters& k) {
  json.key("counters");
  json.object("rows_f64", k.rows_f64, "rows_f32", k.rows_f32, "gram_flops_f64", k.gram_flops_f64,
              "gram_flops_f32", k.gram_flops_f32, "gram_flops_f32_wide", k.gram_flops_f32_wide,
              "gram_flops_bf16", k.gram_flops_bf16, "gram_flops_f16", k.gram_flops_f16, "qr_flops_f64",
              k.qr_flops_f64);
}

void iteration_json(JsonWriter& json, const IterationSummary& it) {
  json.begin_object();
  json.members("iteration", it.iteration, "cost", it.cost, "gradient_norm", it.gradient_norm,
               "decrement_sigma", it.decrement_sigma, "step", it.step_norm, "lambda", it.lambda, "rho",
               it.rho, "outcome", name(it.outcome), "rows", it.rows, "residual", name(it.plan.residual),
               "jacobian", name(formats_of(it.plan).jacobian), "gram", name(formats_of(it.plan).gram),
               "solve", it.plan.gram == Gram::qr ? "f64 qr" : "f64", "condition", it.condition);
  counters_json(json, it.counters);
  json.members("event", name(it.event), "reason", it.reason);
  json.end_object();
}

void issues_json(JsonWriter& json, const Summary& summary) {
  json.key("issues");
  json.begin_array();
  for (const PrecisionIssue& issue : summary.precision.issues)
    json.object("iteration", issue.iteration, "operation", name(issue.operation), "format",
                name(issue.format), "nan", issue.nan, "inf", issue.inf, "near_limit", issue.near_limit,
                "rows", issue.rows);
  for (const IterationSummary& it : summary.iterations) {
    if (it.outcome != StepOutcome::invalid) continue;
    json.object("iteration", it.iteration, "operation", name(Operation::evaluate), "format",
                name(it.plan.residual), "reason", "the trial point has no finite residuals");
  }
  json.end_array();
}

void precision_json(JsonWriter& json, const Summary& summary) {
  json.key("precision");
  json.begin_object();
  json.members("policy", summary.precision.policy, "escalations", summary.precision.escalations);
  issues_json(json, summary);
  json.list("trace", summary.iterations, [&](const IterationSummary& it) { iteration_json(json, it); });
  counters_json(json, summary.precision.counters);
  json.end_object();
}

// Writes the members "status", "verdict", "success" and "message".
void outcome_json(JsonWriter& json, const Summary& summary) {
  json.members("status", nlsq_termination_name(static_cast<int>(summary.termination)), "verdict",
               name(summary.verdict), "success", is_success(summary.verdict), "message", summary.message);
}

void minima_json(JsonWriter& json, const std::vector<FitMinimum>& minima) {
  if (minima.empty()) return;
  json.list("minima", minima, [&](const FitMinimum& minimum) {
    json.object("cost", minimum.cost, "verdict", name(minimum.verdict), "starts", minimum.starts,
                "first_start", minimum.first_start, "parameters", minimum.parameters);
  });
}

// Writes the members from "certificate" to "time". `free` are the names of the free parameters.
void summary_json(JsonWriter& json, const Summary& summary, const std::vector<std::string>& free) {
  certificate_json(json, summary.certificate, free);
  precision_json(json, summary);
  json.members("evaluator", summary.evaluator, "kernel", summary.kernel, "threads", summary.threads,
               "peak_bytes", summary.peak_bytes);
  json.key("time");
  json.object("setup", summary.time.setup, "evaluate", summary.time.evaluate, "solve", summary.time.solve,
              "certify", summary.time.certify, "total", summary.time.total);
}

void parameter_json(JsonWriter& json, const CurveResult& r, std::size_t j) {
  const FitResult& fit = r.fit;
  const auto [low, high] = r.interval(j);
  json.begin_object();
  json.members("name", fit.parameter_names[j], "value", fit.parameters[j], "std_error",
               fit.standard_errors[j], "ci_low", fit.fixed[j] ? fit.parameters[j] : low, "ci_high",
               fit.fixed[j] ? fit.parameters[j] : high, "fixed", static_cast<bool>(fit.fixed[j]));
  json.key("tied");
  if (fit.ties[j].empty()) json.null();
  else json.value(std::string_view(fit.ties[j]));
  json.members("at_bound", static_cast<bool>(fit.at_bound[j]), "eliminated",
               static_cast<bool>(fit.eliminated[j]), "guess", fit.guess[j]);
  json.end_object();
}

void columns_json(JsonWriter& json, const CurveResult& r) {
  std::vector<std::pair<const char*, std::string>> columns;
  for (const std::string& x : r.predictors) columns.emplace_back("x", x);
  columns.emplace_back("y", "y");
  if (!r.sigmas.empty()) columns.emplace_back("sigma", "sigma");
  json.list("columns", columns,
            [&](const auto& column) { json.object("role", column.first, "expression", column.second); });
}

void loss_json(JsonWriter& json, const FitResult& fit) {
  json.key("loss");
  json.begin_object();
  json.members("name", fit.loss.name());
  json.key("scale");
  if (fit.loss.is_robust()) json.value(fit.loss.scale());
  else json.null();
  json.members("beyond", fit.beyond);
  json.end_object();
}

std::string parameter_line(const std::string& name, double value, double error) {
  return fmt::format("  {:<12} {:>14.6g} ± {:.3g}\n", name, value, error);
}

}  // namespace

std::string CurveResult::make_json() const {
  const std::size_t n = fit.parameters.size();
  JsonWriter json;
  json.begin_object();
  json.members("model", model, "formula", formula);
  json.list("parameters", std::views::iota(std::size_t{0}, n),
            [&](std::size_t j) { parameter_json(json, *this, j); });
  matrix_json(json, "covariance", n, [&](std::size_t i, std::size_t j) { return fit.covariance(i, j); });
  matrix_json(json, "correlation", n, [&](std::size_t i, std::size_t j) { return fit.correlation(i, j); });
  columns_json(json, *this);
  json.members("rows", fit.rows, "dof", fit.dof, "rss", fit.rss, "chi2_reduced", fit.chi2_reduced,
               "r_squared", fit.r_squared, "aic", fit.aic, "aicc", aicc(fit), "bic", fit.bic);
  outcome_json(json, fit.summary);
  json.members("interrupted", fit.summary.termination == Termination::user_stop, "warnings", fit.warnings,
               "confidence", confidence, "intervals", "standard", "absolute_sigma", options.absolute_sigma);
  loss_json(json, fit);
  minima_json(json, fit.minima);
  std::vector<std::string> free;
  for (std::size_t j = 0; j < n; ++j) {
    if (!fit.fixed[j] && fit.ties[j].empty()) free.push_back(fit.parameter_names[j]);
  }
  summary_json(json, fit.summary, free);
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
        nlsq_termination_name(static_cast<int>(batch.termination[f])), "verdict", name(batch.verdict[f]),
        "success", is_success(batch.verdict[f]));
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

namespace {

std::string builtin_models() {
  JsonWriter json;
  json.begin_array();
  for (const Model& m : models()) {
    json.begin_object();
    json.members("name", m.name, "formula", m.formula, "description", m.description, "predictors",
                 m.predictors);
    json.list("parameters", std::views::iota(std::size_t{0}, m.parameters.size()), [&](std::size_t j) {
      json.object("name", m.parameters[j], "meaning", j < m.meaning.size() ? m.meaning[j] : "");
    });
    json.members("aliases", m.aliases);
    json.end_object();
  }
  json.end_array();
  return json.take() + "\n";
}

}  // namespace

}  // namespace nlsq::inline v0::c

extern "C" const char* nlsq_builtin_models_json() {
  return nlsq::c::text_or_null([&] {
    static const std::string all = nlsq::c::builtin_models();
    return all.c_str();
  });
}
