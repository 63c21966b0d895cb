// Adds derived quantities, the bootstrap and predictions to the JSON object.
#include "prediction/prediction_json.hpp"
#include "report/json_number.hpp"

namespace nlsq::cli {

namespace {

using Json = nlohmann::ordered_json;

Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(json_number(value));
  return list;
}

Json derived(const std::vector<DerivedQuantity>& quantities) {
  Json list = Json::array();
  for (const DerivedQuantity& q : quantities) {
    list.push_back({{"name", q.name},
                    {"expression", q.expression},
                    {"value", json_number(q.value)},
                    {"std_error", json_number(q.standard_error)},
                    {"ci_low", json_number(q.ci_low)},
                    {"ci_high", json_number(q.ci_high)},
                    {"intervals", q.by_profile ? "profile" : "standard"},
                    {"note", q.note}});
  }
  return list;
}

Json estimates(const std::vector<BootstrapEstimate>& list) {
  Json out = Json::array();
  for (const BootstrapEstimate& e : list) {
    out.push_back({{"name", e.name},
                   {"value", json_number(e.estimate)},
                   {"bias", json_number(e.bias)},
                   {"std_error", json_number(e.standard_error)},
                   {"ci_low", json_number(e.ci_low)},
                   {"ci_high", json_number(e.ci_high)}});
  }
  return out;
}

Json of_bootstrap(const Bootstrap& b) {
  return {{"method", name(b.method)},       {"samples", b.samples},
          {"failures", b.failures},         {"seed", b.seed},
          {"confidence", b.confidence},     {"parameters", estimates(b.parameters)},
          {"derived", estimates(b.derived)}};
}

Json of_prediction(const PredictionResults& results) {
  const Prediction& p = *results.prediction;
  Json x = Json::object();
  for (std::size_t k = 0; k < results.x.size(); ++k) x[results.predictors[k]] = numbers(results.x[k]);
  return {{"confidence", p.confidence},
          {"band", results.by_profile ? "profile" : "standard"},
          {"x", x},
          {"fit", numbers(p.fit)},
          {"std_error", numbers(p.standard_error)},
          {"conf_low", numbers(p.confidence_low)},
          {"conf_high", numbers(p.confidence_high)},
          {"pred_low", numbers(p.prediction_low)},
          {"pred_high", numbers(p.prediction_high)}};
}

}  // namespace

void add_prediction_json(nlohmann::ordered_json& json, const PredictionResults& results) {
  if (!results.derived.empty()) json["derived"] = derived(results.derived);
  if (results.bootstrap) json["bootstrap"] = of_bootstrap(*results.bootstrap);
  if (results.prediction) json["prediction"] = of_prediction(results);
}

}  // namespace nlsq::cli
