// Reads and writes JSON.
#include "report/json_report.hpp"

#include "arguments/model_choice.hpp"
#include "compare/compare_report.hpp"
#include "errors.hpp"
#include "prediction/prediction_json.hpp"
#include "report/json_number.hpp"
#include "report/model_list.hpp"
#include "report/provenance.hpp"
#include "table/source/utf8.hpp"

#include <nlsq/models.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>

namespace nlsq::cli {

namespace {

using Json = nlohmann::ordered_json;

// Returns one word for each termination, for programs. `message` is for people.
const char* status(Termination termination) {
  switch (termination) {
    case Termination::converged: return "converged";
    case Termination::tolerance: return "tolerance";
    case Termination::no_progress: return "no_progress";
    case Termination::max_iterations: return "max_iterations";
    case Termination::time_limit: return "time_limit";
    case Termination::user_stop: return "user_stop";
    case Termination::failure: break;
  }
  return "failure";
}

Json parameters(const FitReport& report) {
  const FitResult& fit = report.fit;
  Json list = Json::array();
  for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
    const double value = fit.parameters[j];
    const auto [low, high] = report.interval(j);
    const bool fixed = fit.fixed[j];
    list.push_back({{"name", fit.parameter_names[j]},
                    {"value", json_number(value)},
                    {"std_error", json_number(fit.standard_errors[j])},
                    {"ci_low", fixed ? json_number(value) : json_number(low)},
                    {"ci_high", fixed ? json_number(value) : json_number(high)},
                    {"fixed", fixed},
                    {"tied", fit.ties[j].empty() ? Json(nullptr) : Json(fit.ties[j])},
                    {"at_bound", static_cast<bool>(fit.at_bound[j])},
                    {"eliminated", static_cast<bool>(fit.eliminated[j])},
                    {"guess", json_number(fit.guess[j])}});
  }
  return list;
}

// Lists the columns and expressions of --x, --y and the sigmas. "name" is the name of a column in the header.
// It is null for an expression, and where there is no header. "seconds_since" is the first date of a column
// of dates.
Json columns(const FitData& data) {
  Json list = Json::array();
  const auto add = [&](const char* role, const ColumnExpression& expression) {
    Json since = nullptr;
    for (const std::size_t column : expression.columns) {
      if (const TimeOrigin* const time = data.shape.time(column)) since = time->text;
    }
    Json name = nullptr;
    if (expression.plain && !data.shape.names[expression.columns[0]].empty())
      name = data.shape.names[expression.columns[0]];
    list.push_back(
        {{"role", role}, {"name", name}, {"expression", expression.text}, {"seconds_since", since}});
  };
  for (const ColumnExpression& x : data.x) add("x", x);
  add("y", data.y_expression);
  if (data.sigma_expression) add("sigma", *data.sigma_expression);
  for (const auto& sigma_x : data.sigma_x_expressions) {
    if (sigma_x) add("sigma_x", *sigma_x);
  }
  return list;
}

template <class Entry>
Json matrix(std::size_t n, Entry entry) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < n; ++i) {
    Json row = Json::array();
    for (std::size_t j = 0; j < n; ++j) row.push_back(json_number(entry(i, j)));
    rows.push_back(std::move(row));
  }
  return rows;
}

Json certificate_json(const FitResult& fit) {
  const Certificate& c = fit.summary.certificate;
  return {{"passed", c.passed},
          {"verdict", name(c.verdict)},
          {"governed_by", c.governed_by},
          {"cost", json_number(c.cost)},
          {"gradient_norm", json_number(c.gradient_norm)},
          {"gradient_bound", json_number(c.gradient_bound)},
          {"decrement_sigma", json_number(c.decrement_sigma)},
          {"step", json_number(c.step)},
          {"last_step", json_number(c.last_step)},
          {"condition", json_number(c.condition)},
          {"rank", c.rank},
          {"confounded", free_names(fit, c.confounded)},
          {"covariance_error", json_number(c.covariance_error)},
          {"qr", c.qr},
          {"rechecked_rows", c.rechecked_rows},
          {"recheck_discrepancy", json_number(c.recheck_discrepancy)},
          {"recheck_passed", c.recheck_passed}};
}

// Returns the format of the factorisation, which follows from the form of the normal equations.
const char* solve_format(Gram gram) { return gram == Gram::qr ? "f64 qr" : "f64"; }

Json counters(const KernelCounters& k) {
  return {{"rows_f64", k.rows_f64},
          {"rows_f32", k.rows_f32},
          {"gram_flops_f64", k.gram_flops_f64},
          {"gram_flops_f32", k.gram_flops_f32},
          {"gram_flops_f32_wide", k.gram_flops_f32_wide},
          {"gram_flops_bf16", k.gram_flops_bf16},
          {"gram_flops_f16", k.gram_flops_f16},
          {"qr_flops_f64", k.qr_flops_f64}};
}

Json trace(const Summary& summary) {
  Json list = Json::array();
  for (const IterationSummary& it : summary.iterations) {
    list.push_back({{"iteration", it.iteration},
                    {"cost", json_number(it.cost)},
                    {"gradient_norm", json_number(it.gradient_norm)},
                    {"decrement_sigma", json_number(it.decrement_sigma)},
                    {"step", json_number(it.step_norm)},
                    {"lambda", json_number(it.lambda)},
                    {"rho", json_number(it.rho)},
                    {"outcome", name(it.outcome)},
                    {"rows", it.rows},
                    {"residual", name(it.plan.residual)},
                    {"jacobian", name(formats_of(it.plan).jacobian)},
                    {"gram", name(formats_of(it.plan).gram)},
                    {"solve", solve_format(it.plan.gram)},
                    {"condition", json_number(it.condition)},
                    {"counters", counters(it.counters)},
                    {"event", name(it.event)},
                    {"reason", it.reason}});
  }
  return list;
}

// Returns problems with number formats: counts of values and rows, and trial points whose residuals are not
// finite.
Json issues(const Summary& summary) {
  Json list = Json::array();
  for (const PrecisionIssue& issue : summary.precision.issues) {
    list.push_back({{"iteration", issue.iteration},
                    {"operation", name(issue.operation)},
                    {"format", name(issue.format)},
                    {"nan", issue.nan},
                    {"inf", issue.inf},
                    {"near_limit", issue.near_limit},
                    {"rows", issue.rows}});
  }
  for (const IterationSummary& it : summary.iterations) {
    if (it.outcome != StepOutcome::invalid) continue;
    list.push_back({{"iteration", it.iteration},
                    {"operation", name(Operation::evaluate)},
                    {"format", name(it.plan.residual)},
                    {"reason", "the trial point has no finite residuals"}});
  }
  return list;
}

Json precision(const Summary& summary) {
  return {{"policy", summary.precision.policy},
          {"escalations", summary.precision.escalations},
          {"issues", issues(summary)},
          {"trace", trace(summary)},
          {"counters", counters(summary.precision.counters)}};
}

// Returns the minima of --starts, with this fit's minimum first.
Json minima(const FitResult& fit) {
  Json list = Json::array();
  for (const FitMinimum& minimum : fit.minima) {
    Json values = Json::array();
    for (const double value : minimum.parameters) values.push_back(json_number(value));
    list.push_back({{"cost", json_number(minimum.cost)},
                    {"verdict", name(minimum.verdict)},
                    {"starts", minimum.starts},
                    {"first_start", minimum.first_start},
                    {"parameters", values}});
  }
  return list;
}

Json profile(const PolicyProfile& measured) {
  Json list = Json::array();
  double f64 = std::nan("");
  for (const PolicyMeasurement& m : measured.policies) {
    if (m.policy == "f64") f64 = m.seconds;
  }
  for (const PolicyMeasurement& m : measured.policies) {
    list.push_back({{"policy", m.policy},
                    {"seconds", json_number(m.seconds)},
                    {"speed", json_number(f64 / m.seconds)},
                    {"peak_bytes", m.peak_bytes},
                    {"issues", m.issues},
                    {"escalations", m.escalations},
                    {"digits", json_number(m.digits)},
                    {"below_f64", json_number(m.below_f64)},
                    {"certified", m.certified},
                    {"status", m.status}});
  }
  return {{"rows", measured.rows},
          {"sampled", measured.sampled},
          {"stopped", measured.stopped},
          {"policies", list}};
}

Json optimize(const PrecisionObjective& objective, const OptimizedPolicy& chosen) {
  return {{"objective", objective.to_string()},
          {"policy", chosen.text},
          {"met", chosen.met},
          {"message", chosen.message}};
}

// Returns the part of --certify: the end of a fit from the parameters, if they are not the minimum.
Json certification(const FitReport& report) {
  Json out = {{"passed", report.fit.success()}, {"fit", nullptr}};
  if (!report.fitted_after) return out;
  Json values = Json::object();
  for (std::size_t j = 0; j < report.fit.parameters.size(); ++j)
    values[report.fit.parameter_names[j]] = json_number(report.fitted_after->parameters[j]);
  out["fit"] = {{"verdict", name(report.fitted_after->summary.verdict)}, {"values", values}};
  return out;
}

double start_value(const std::string& path, const std::string& name, const Json& value) {
  if (!value.is_number())
    throw UsageError(fmt::format("--p0 @{}: {} has no number as its value", path, printable(name)));
  return value.get<double>();
}

}  // namespace

std::string json_report(const FitReport& report) {
  const FitResult& fit = report.fit;
  const Summary& summary = fit.summary;
  const std::size_t n = fit.parameters.size();
  Json json;
  json["model"] = report.model.name_or(report.arguments.model);
  json["formula"] = report.model.formula.text;
  json["parameters"] = parameters(report);
  json["covariance"] = matrix(n, [&](std::size_t i, std::size_t j) { return fit.covariance(i, j); });
  json["correlation"] = matrix(n, [&](std::size_t i, std::size_t j) { return fit.correlation(i, j); });
  add_provenance(json, report);
  json["columns"] = columns(report.data);
  json["rows"] = fit.rows;
  json["excluded"] = report.data.excluded();
  json["dof"] = fit.dof;
  json["rss"] = json_number(fit.rss);
  json["chi2_reduced"] = json_number(fit.chi2_reduced);
  json["r_squared"] = json_number(fit.r_squared);
  json["aic"] = json_number(fit.aic);
  json["aicc"] = json_number(aicc(fit));
  json["bic"] = json_number(fit.bic);
  json["status"] = status(summary.termination);
  json["verdict"] = name(summary.verdict);
  json["success"] = report.fit.success();
  json["message"] = summary.message;
  json["interrupted"] = report.was_interrupted || report.after.interrupted;
  json["warnings"] = report.warnings;
  json["confidence"] = report.arguments.confidence;
  json["intervals"] = report.intervals ? "profile" : "standard";
  json["absolute_sigma"] = report.arguments.absolute_sigma;
  json["loss"] = {{"name", fit.loss.name()},
                  {"scale", fit.loss.is_robust() ? json_number(fit.loss.scale()) : Json(nullptr)},
                  {"beyond", fit.beyond}};
  if (!fit.minima.empty()) json["minima"] = minima(fit);
  if (report.comparison != nullptr) add_comparison_json(json, *report.comparison);
  if (report.arguments.certify) json["certify"] = certification(report);
  add_prediction_json(json, report.after);
  json["certificate"] = certificate_json(fit);
  json["precision"] = precision(summary);
  if (report.optimized) json["optimize"] = optimize(*report.arguments.optimize, *report.optimized);
  if (report.profile) json["profile"] = profile(*report.profile);
  json["evaluator"] = summary.evaluator;
  json["kernel"] = summary.kernel;
  json["threads"] = summary.threads;
  json["peak_bytes"] = summary.peak_bytes;
  json["time"] = {{"read", report.read_seconds},       {"setup", summary.time.setup},
                  {"evaluate", summary.time.evaluate}, {"solve", summary.time.solve},
                  {"certify", summary.time.certify},   {"total", report.total_seconds}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string json_text(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

const char* status_word(Termination termination) { return status(termination); }

std::string model_json() {
  Json list = Json::array();
  for (const Model& m : models()) {
    Json parameters = Json::array();
    for (std::size_t j = 0; j < m.parameters.size(); ++j) {
      parameters.push_back(
          {{"name", m.parameters[j]}, {"meaning", j < m.meaning.size() ? m.meaning[j] : ""}});
    }
    list.push_back({{"name", m.name},
                    {"formula", m.formula},
                    {"description", m.description},
                    {"predictors", m.predictors},
                    {"parameters", parameters},
                    {"aliases", m.aliases}});
  }
  return list.dump(2) + "\n";
}

std::vector<std::pair<std::string, double>> read_start_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UsageError(fmt::format("--p0 @{}: cannot open the file", path));
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object())
    throw UsageError(fmt::format("--p0 @{}: not a JSON object as --json writes it", path));
  if (json.empty()) throw UsageError(fmt::format("--p0 @{}: the object has no values", path));
  std::vector<std::pair<std::string, double>> values;
  const auto parameters = json.find("parameters");
  if (parameters == json.end()) {
    for (const auto& [name, value] : json.items()) values.emplace_back(name, start_value(path, name, value));
    return values;
  }
  if (!parameters->is_array()) throw UsageError(fmt::format("--p0 @{}: \"parameters\" is not a list", path));
  for (const Json& entry : *parameters) {
    const bool named =
        entry.is_object() && entry.contains("name") && entry["name"].is_string() && entry.contains("value");
    if (!named) throw UsageError(fmt::format("--p0 @{}: a parameter without name and value", path));
    const auto name = entry["name"].get<std::string>();
    values.emplace_back(name, start_value(path, name, entry["value"]));
  }
  return values;
}

std::string json_library_version() {
  return fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                     NLOHMANN_JSON_VERSION_PATCH);
}

}  // namespace nlsq::cli
