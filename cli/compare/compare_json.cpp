// Adds the comparison of models to the JSON object.
#include "compare/compare_report.hpp"
#include "report/json_number.hpp"

namespace nlsq::cli {

namespace {

using Json = nlohmann::ordered_json;

Json of_model(const ModelFit& m) {
  if (!m.fit) return {{"model", m.name}, {"certified", false}, {"verdict", nullptr}, {"message", m.error}};
  const FitResult& fit = *m.fit;
  Json values = Json::object();
  for (std::size_t j = 0; j < fit.parameters.size(); ++j)
    values[fit.parameter_names[j]] = json_number(fit.parameters[j]);
  return {{"model", m.name},
          {"certified", m.success()},
          {"verdict", name(fit.summary.verdict)},
          {"message", fit.summary.message},
          {"free_parameters", m.parameters},
          {"values", values},
          {"rss", json_number(fit.rss)},
          {"dof", fit.dof},
          {"chi2_reduced", json_number(fit.chi2_reduced)},
          {"r_squared", json_number(fit.r_squared)},
          {"aic", json_number(fit.aic)},
          {"aicc", json_number(m.aicc)},
          {"bic", json_number(fit.bic)},
          {"weight", json_number(m.weight)}};
}

}  // namespace

void add_comparison_json(nlohmann::ordered_json& json, const ModelComparison& comparison) {
  Json models = Json::array(), tests = Json::array();
  for (const ModelFit& m : comparison.models) models.push_back(of_model(m));
  for (const NestedTest& t : comparison.tests) {
    tests.push_back({{"smaller", comparison.models[t.smaller].name},
                     {"larger", comparison.models[t.larger].name},
                     {"statistic", t.chi_square ? "chi2" : "F"},
                     {"value", json_number(t.statistic)},
                     {"dof", t.dof},
                     {"dof_larger", t.chi_square ? Json(nullptr) : Json(t.dof_larger)},
                     {"p_value", json_number(t.p_value)},
                     {"approximate", t.approximate},
                     {"note", t.note}});
  }
  json["comparison"] = models;
  json["comparison_tests"] = tests;
  json["comparison_warnings"] = comparison.warnings;
}

}  // namespace nlsq::cli
