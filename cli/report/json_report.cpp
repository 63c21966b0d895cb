// Writes the result of a fit as JSON.
#include "report/json_report.hpp"

#include "compare/compare_report.hpp"
#include "prediction/prediction_json.hpp"
#include "report/provenance.hpp"

#include <nlsq/json/fit.hpp>

#include <cmath>
#include <optional>

namespace nlsq::cli {

namespace {

// Writes the columns and expressions of --x, --y and the sigmas. "name" is the name of a column in the
// header. It is null for an expression, and where there is no header. "seconds_since" is the first date of a
// column of dates.
void column_json(JsonWriter& json, const char* role, const ColumnExpression& expression,
                 const CsvShape& shape) {
  const std::string* since = nullptr;
  for (const std::size_t column : expression.columns) {
    if (const TimeOrigin* const time = shape.time(column)) since = &time->text;
  }
  const auto text_or_null = [&](const char* key, const std::string* text) {
    json.key(key);
    text != nullptr ? json.value(*text) : json.null();
  };
  const bool named = expression.plain && !shape.names[expression.columns[0]].empty();
  json.begin_object();
  json.members("role", role);
  text_or_null("name", named ? &shape.names[expression.columns[0]] : nullptr);
  json.members("expression", expression.text);
  text_or_null("seconds_since", since);
  json.end_object();
}

void columns_json(JsonWriter& json, const FitData& data) {
  const auto add = [&](const char* role, const ColumnExpression& expression) {
    column_json(json, role, expression, data.shape);
  };
  json.key("columns");
  json.begin_array();
  for (const ColumnExpression& x : data.x) add("x", x);
  add("y", data.y_expression);
  for (const ColumnExpression& y : data.more_y_expressions) add("y", y);
  if (data.sigma_expression) add("sigma", *data.sigma_expression);
  for (const auto& sigma_x : data.sigma_x_expressions) {
    if (sigma_x) add("sigma_x", *sigma_x);
  }
  if (data.group_expression) add("group", *data.group_expression);
  json.end_array();
}

void profile_json(JsonWriter& json, const PolicyProfile& measured) {
  double f64 = std::nan("");
  for (const PolicyMeasurement& m : measured.policies) {
    if (m.policy == "f64") f64 = m.seconds;
  }
  json.key("profile");
  json.begin_object();
  json.members("rows", measured.rows, "sampled", measured.sampled, "stopped", measured.stopped);
  json.list("policies", measured.policies, [&](const PolicyMeasurement& m) {
    json.object("policy", m.policy, "seconds", m.seconds, "speed", f64 / m.seconds, "peak_bytes",
                m.peak_bytes, "issues", m.issues, "escalations", m.escalations, "digits", m.digits,
                "below_f64", m.below_f64, "certified", m.certified, "status", m.status);
  });
  json.end_object();
}

void optimize_json(JsonWriter& json, const PrecisionObjective& objective, const OptimizedPolicy& chosen) {
  json.key("optimize");
  json.object("objective", objective.to_string(), "policy", chosen.text, "met", chosen.met, "message",
              chosen.message);
}

// Writes the part of --certify: the end of a fit from the parameters, if they are not the minimum.
void certification_json(JsonWriter& json, const FitReport& report) {
  json.key("certify");
  json.begin_object();
  json.members("passed", report.fit.success());
  json.key("fit");
  if (report.fitted_after) {
    json.begin_object();
    json.members("verdict", name(report.fitted_after->summary.verdict));
    json.key("values");
    json.begin_object();
    for (std::size_t j = 0; j < report.fit.parameters.size(); ++j)
      json.members(report.fit.parameter_names[j], report.fitted_after->parameters[j]);
    json.end_object();
    json.end_object();
  } else {
    json.null();
  }
  json.end_object();
}

}  // namespace

std::string json_report(const FitReport& report) {
  const FitResult& fit = report.fit;
  const TimeSummary& time = fit.summary.time;
  JsonWriter json;
  json.begin_object();
  json.members("model", report.model.name_or(report.arguments.model), "formula", report.model.formula.text);
  parameters_json(json, fit, [&](std::size_t j) { return report.interval(j); });
  add_provenance(json, report);
  columns_json(json, report.data);
  json.members("rows", fit.rows, "excluded", report.data.excluded());
  statistics_json(json, fit, report.arguments.absolute_sigma);
  outcome_json(json, fit.summary);
  json.members("interrupted", report.was_interrupted || report.after.interrupted, "warnings", report.warnings,
               "confidence", report.arguments.confidence, "intervals",
               report.intervals ? "profile" : "standard", "absolute_sigma", report.arguments.absolute_sigma);
  loss_json(json, fit);
  minima_json(json, fit.minima);
  if (report.comparison != nullptr) add_comparison_json(json, *report.comparison);
  if (report.arguments.certify) certification_json(json, report);
  add_prediction_json(json, report.after);
  if (report.optimized) optimize_json(json, *report.arguments.optimize, *report.optimized);
  if (report.profile) profile_json(json, *report.profile);
  summary_json(json, fit.summary, free_names(fit));
  json.key("time");
  json.object("read", report.read_seconds, "setup", time.setup, "evaluate", time.evaluate, "solve",
              time.solve, "certify", time.certify, "total", report.total_seconds);
  json.end_object();
  return json.take() + "\n";
}

std::string json_columns(const FitData& data) {
  JsonWriter json;
  json.begin_object();
  columns_json(json, data);
  json.end_object();
  const std::string object = json.take();
  std::string line;  // without the line endings and indents between members; texts have none
  for (std::size_t i = 1; i + 1 < object.size(); ++i) {
    if (object[i] == '\n') i = object.find_first_not_of(" \n", i) - 1;
    else line += object[i];
  }
  return line;
}

std::string json_text(const std::string& text) {
  JsonWriter json;
  json.value(text);
  return json.take();
}

}  // namespace nlsq::cli
