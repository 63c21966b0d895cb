// Writes the certificate, the precision with its trace, counters and times.
#include "c/results/summary_json.hpp"

#include <nlsq/c/base.h>

namespace nlsq::inline v0::c {

namespace {

void certificate_json(JsonWriter& json, const Certificate& c, const std::vector<std::string>& free) {
  json.key("certificate");
  json.begin_object();
  json.member("passed", c.passed);
  json.member("verdict", name(c.verdict));
  json.member("governed_by", std::string_view(c.governed_by));
  json.member("cost", c.cost);
  json.member("gradient_norm", c.gradient_norm);
  json.member("gradient_bound", c.gradient_bound);
  json.member("decrement_sigma", c.decrement_sigma);
  json.member("step", c.step);
  json.member("last_step", c.last_step);
  json.member("condition", c.condition);
  json.member("rank", c.rank);
  std::vector<std::string> confounded;
  for (const int j : c.confounded) {
    if (static_cast<std::size_t>(j) < free.size()) confounded.push_back(free[static_cast<std::size_t>(j)]);
  }
  json.member("confounded", confounded);
  json.member("covariance_error", c.covariance_error);
  json.member("qr", c.qr);
  json.member("rechecked_rows", c.rechecked_rows);
  json.member("recheck_discrepancy", c.recheck_discrepancy);
  json.member("recheck_passed", c.recheck_passed);
  json.end_object();
}

void counters_json(JsonWriter& json, const KernelCounters& k) {
  json.key("counters");
  json.begin_object();
  json.member("rows_f64", k.rows_f64);
  json.member("rows_f32", k.rows_f32);
  json.member("gram_flops_f64", k.gram_flops_f64);
  json.member("gram_flops_f32", k.gram_flops_f32);
  json.member("gram_flops_f32_wide", k.gram_flops_f32_wide);
  json.member("gram_flops_bf16", k.gram_flops_bf16);
  json.member("gram_flops_f16", k.gram_flops_f16);
  json.member("qr_flops_f64", k.qr_flops_f64);
  json.end_object();
}

void iteration_json(JsonWriter& json, const IterationSummary& it) {
  json.begin_object();
  json.member("iteration", it.iteration);
  json.member("cost", it.cost);
  json.member("gradient_norm", it.gradient_norm);
  json.member("decrement_sigma", it.decrement_sigma);
  json.member("step", it.step_norm);
  json.member("lambda", it.lambda);
  json.member("rho", it.rho);
  json.member("outcome", name(it.outcome));
  json.member("rows", it.rows);
  json.member("residual", name(it.plan.residual));
  json.member("jacobian", name(formats_of(it.plan).jacobian));
  json.member("gram", name(formats_of(it.plan).gram));
  json.member("solve", it.plan.gram == Gram::qr ? "f64 qr" : "f64");
  json.member("condition", it.condition);
  counters_json(json, it.counters);
  json.member("event", name(it.event));
  json.member("reason", std::string_view(it.reason));
  json.end_object();
}

void issues_json(JsonWriter& json, const Summary& summary) {
  json.key("issues");
  json.begin_array();
  for (const PrecisionIssue& issue : summary.precision.issues) {
    json.begin_object();
    json.member("iteration", issue.iteration);
    json.member("operation", name(issue.operation));
    json.member("format", name(issue.format));
    json.member("nan", issue.nan);
    json.member("inf", issue.inf);
    json.member("near_limit", issue.near_limit);
    json.member("rows", issue.rows);
    json.end_object();
  }
  for (const IterationSummary& it : summary.iterations) {
    if (it.outcome != StepOutcome::invalid) continue;
    json.begin_object();
    json.member("iteration", it.iteration);
    json.member("operation", name(Operation::evaluate));
    json.member("format", name(it.plan.residual));
    json.member("reason", "the trial point has no finite residuals");
    json.end_object();
  }
  json.end_array();
}

void precision_json(JsonWriter& json, const Summary& summary) {
  json.key("precision");
  json.begin_object();
  json.member("policy", std::string_view(summary.precision.policy));
  json.member("escalations", summary.precision.escalations);
  issues_json(json, summary);
  json.key("trace");
  json.begin_array();
  for (const IterationSummary& it : summary.iterations) iteration_json(json, it);
  json.end_array();
  counters_json(json, summary.precision.counters);
  json.end_object();
}

}  // namespace

void outcome_json(JsonWriter& json, const Summary& summary) {
  json.member("status", nlsq_termination_name(static_cast<int>(summary.termination)));
  json.member("verdict", name(summary.verdict));
  json.member("success", is_success(summary.verdict));
  json.member("message", std::string_view(summary.message));
}

void minima_json(JsonWriter& json, const std::vector<FitMinimum>& minima) {
  if (minima.empty()) return;
  json.key("minima");
  json.begin_array();
  for (const FitMinimum& minimum : minima) {
    json.begin_object();
    json.member("cost", minimum.cost);
    json.member("verdict", name(minimum.verdict));
    json.member("starts", minimum.starts);
    json.member("first_start", minimum.first_start);
    json.member("parameters", minimum.parameters);
    json.end_object();
  }
  json.end_array();
}

void summary_json(JsonWriter& json, const Summary& summary, const std::vector<std::string>& free) {
  certificate_json(json, summary.certificate, free);
  precision_json(json, summary);
  json.member("evaluator", std::string_view(summary.evaluator));
  json.member("kernel", std::string_view(summary.kernel));
  json.member("threads", summary.threads);
  json.member("peak_bytes", summary.peak_bytes);
  json.key("time");
  json.begin_object();
  json.member("setup", summary.time.setup);
  json.member("evaluate", summary.time.evaluate);
  json.member("solve", summary.time.solve);
  json.member("certify", summary.time.certify);
  json.member("total", summary.time.total);
  json.end_object();
}

}  // namespace nlsq::inline v0::c
