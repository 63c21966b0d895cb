// Writes derived quantities, the bootstrap and predictions to the JSON object.
#include "prediction/prediction_json.hpp"

namespace nlsq::cli {

namespace {

void derived_json(JsonWriter& json, const std::vector<DerivedQuantity>& quantities) {
  json.list("derived", quantities, [&](const DerivedQuantity& q) {
    json.object("name", q.name, "expression", q.expression, "value", q.value, "std_error", q.standard_error,
                "ci_low", q.ci_low, "ci_high", q.ci_high, "intervals", q.by_profile ? "profile" : "standard",
                "note", q.note);
  });
}

void estimates_json(JsonWriter& json, const char* key, const std::vector<BootstrapEstimate>& list) {
  json.list(key, list, [&](const BootstrapEstimate& e) {
    json.object("name", e.name, "value", e.estimate, "bias", e.bias, "std_error", e.standard_error, "ci_low",
                e.ci_low, "ci_high", e.ci_high);
  });
}

void bootstrap_json(JsonWriter& json, const Bootstrap& b) {
  json.key("bootstrap");
  json.begin_object();
  json.members("method", name(b.method), "samples", b.samples, "failures", b.failures, "seed", b.seed,
               "confidence", b.confidence);
  estimates_json(json, "parameters", b.parameters);
  estimates_json(json, "derived", b.derived);
  json.end_object();
}

void bands_json(JsonWriter& json, const PredictionResults& results) {
  const Prediction& p = *results.prediction;
  json.key("prediction");
  json.begin_object();
  json.members("confidence", p.confidence, "band", results.by_profile ? "profile" : "standard");
  json.key("x");
  json.begin_object();
  for (std::size_t k = 0; k < results.x.size(); ++k) json.members(results.predictors[k], results.x[k]);
  json.end_object();
  json.members("fit", p.fit, "std_error", p.standard_error, "conf_low", p.confidence_low, "conf_high",
               p.confidence_high, "pred_low", p.prediction_low, "pred_high", p.prediction_high);
  json.end_object();
}

}  // namespace

void add_prediction_json(JsonWriter& json, const PredictionResults& results) {
  if (!results.derived.empty()) derived_json(json, results.derived);
  if (results.bootstrap) bootstrap_json(json, *results.bootstrap);
  if (results.prediction) bands_json(json, results);
}

}  // namespace nlsq::cli
