// Writes the JSON that results of the command and of the C interface have in common.
#include <nlsq/json/fit.hpp>

#include <nlsq/compare.hpp>
#include <nlsq/models.hpp>

#include <iterator>
#include <optional>
#include <ranges>

namespace nlsq::inline v0 {

namespace {

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

void parameter_json(JsonWriter& json, const FitResult& fit, std::size_t j,
                    const std::pair<double, double>& interval) {
  const auto [low, high] = interval;
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

}  // namespace

const char* status_word(Termination termination) noexcept {
  static constexpr const char* kWords[] = {"converged",  "tolerance", "no_progress", "max_iterations",
                                           "time_limit", "user_stop", "failure"};
  static_assert(std::size(kWords) == static_cast<std::size_t>(Termination::failure) + 1);
  return kWords[static_cast<std::size_t>(termination)];
}

void parameters_json(JsonWriter& json, const FitResult& fit,
                     const std::function<std::pair<double, double>(std::size_t)>& interval) {
  const std::size_t n = fit.parameters.size();
  json.list("parameters", std::views::iota(std::size_t{0}, n),
            [&](std::size_t j) { parameter_json(json, fit, j, interval(j)); });
  matrix_json(json, "covariance", n, [&](std::size_t i, std::size_t j) { return fit.covariance(i, j); });
  matrix_json(json, "correlation", n, [&](std::size_t i, std::size_t j) { return fit.correlation(i, j); });
}

void statistics_json(JsonWriter& json, const FitResult& fit, bool absolute_sigma) {
  json.members("dof", fit.dof, "rss", fit.rss, "chi2_reduced", fit.chi2_reduced, "p_value",
               p_value(fit, absolute_sigma), "r_squared", fit.r_squared, "aic", fit.aic, "aicc", aicc(fit),
               "bic", fit.bic);
}

void outcome_json(JsonWriter& json, const Summary& summary) {
  json.members("status", status_word(summary.termination), "verdict", name(summary.verdict), "success",
               is_success(summary.verdict), "message", summary.message);
}

void loss_json(JsonWriter& json, const FitResult& fit) {
  json.key("loss");
  json.object("name", fit.loss.name(), "scale",
              fit.loss.is_robust() ? std::optional(fit.loss.scale()) : std::nullopt, "beyond", fit.beyond);
}

void minima_json(JsonWriter& json, const std::vector<FitMinimum>& minima) {
  if (minima.empty()) return;
  json.list("minima", minima, [&](const FitMinimum& minimum) {
    json.object("cost", minimum.cost, "verdict", name(minimum.verdict), "starts", minimum.starts,
                "first_start", minimum.first_start, "parameters", minimum.parameters);
  });
}

void summary_json(JsonWriter& json, const Summary& summary, const std::vector<std::string>& free) {
  certificate_json(json, summary.certificate, free);
  precision_json(json, summary);
  json.members("evaluator", summary.evaluator, "kernel", summary.kernel, "threads", summary.threads,
               "peak_bytes", summary.peak_bytes);
}

std::vector<std::string> free_names(const FitResult& fit) {
  std::vector<std::string> free;
  for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
    if (!fit.fixed[j] && fit.ties[j].empty()) free.push_back(fit.parameter_names[j]);
  }
  return free;
}

std::string builtin_models_json() {
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

}  // namespace nlsq::inline v0
