// Declares the parts of the JSON object on derived quantities, the bootstrap and predictions. json_report.cpp
// uses it.
#pragma once

#include "prediction/prediction_results.hpp"

#include <nlsq/json/writer.hpp>

namespace nlsq::cli {

// Writes derived, bootstrap and prediction, where the options asked for them.
void add_prediction_json(JsonWriter& json, const PredictionResults& results);

}  // namespace nlsq::cli
