// Writes the certificate, the precision with its trace, counters and times.
#include "c/results/summary_json.hpp"

#include <nlsq/c/base.h>

namespace nlsq::inline v0::c {

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

}  // namespace

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

void summary_json(JsonWriter& json, const Summary& summary, const std::vector<std::string>& free) {
  certificate_json(json, summary.certificate, free);
  precision_json(json, summary);
  json.members("evaluator", summary.evaluator, "kernel", summary.kernel, "threads", summary.threads,
               "peak_bytes", summary.peak_bytes);
  json.key("time");
  json.object("setup", summary.time.setup, "evaluate", summary.time.evaluate, "solve", summary.time.solve,
              "certify", summary.time.certify, "total", summary.time.total);
}

}  // namespace nlsq::inline v0::c
