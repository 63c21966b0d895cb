// Writes the comparison of models to the JSON object.
#include "compare/compare_report.hpp"

#include <optional>

namespace nlsq::cli {

namespace {

void model_json(JsonWriter& json, const ModelFit& m) {
  json.begin_object();
  json.members("model", m.name, "certified", m.success());
  if (!m.fit) {
    json.key("verdict");
    json.null();
    json.members("message", m.error);
    return json.end_object();
  }
  const FitResult& fit = *m.fit;
  json.members("verdict", name(fit.summary.verdict), "message", fit.summary.message, "free_parameters",
               m.parameters);
  json.key("values");
  json.begin_object();
  for (std::size_t j = 0; j < fit.parameters.size(); ++j)
    json.members(fit.parameter_names[j], fit.parameters[j]);
  json.end_object();
  json.members("rss", fit.rss, "dof", fit.dof, "chi2_reduced", fit.chi2_reduced, "r_squared", fit.r_squared,
               "aic", fit.aic, "aicc", m.aicc, "bic", fit.bic, "weight", m.weight);
  json.end_object();
}

}  // namespace

void add_comparison_json(JsonWriter& json, const ModelComparison& comparison) {
  json.list("comparison", comparison.models, [&](const ModelFit& m) { model_json(json, m); });
  json.list("comparison_tests", comparison.tests, [&](const NestedTest& t) {
    const auto dof_larger = t.chi_square ? std::nullopt : std::optional(t.dof_larger);
    json.object("smaller", comparison.models[t.smaller].name, "larger", comparison.models[t.larger].name,
                "statistic", t.chi_square ? "chi2" : "F", "value", t.statistic, "dof", t.dof, "dof_larger",
                dof_larger, "p_value", t.p_value, "approximate", t.approximate, "note", t.note);
  });
  json.members("comparison_warnings", comparison.warnings);
}

}  // namespace nlsq::cli
