// The parts of the JSON of a result that depend on its summary alone. The keys are those of nlsq-fit --json
// (cli/report/json_report.cpp); tests/cli/test_c_interface_json.cpp compares the two.
#pragma once

#include "c/results/json_writer.hpp"

#include <nlsq/curve_fit.hpp>
#include <nlsq/summary.hpp>

#include <string>
#include <vector>

namespace nlsq::inline v0::c {

// rows x rows numbers by entry(i, j).
template <class Entry>
void matrix_json(JsonWriter& json, std::string_view key, std::size_t rows, Entry entry) {
  json.key(key);
  json.begin_array();
  for (std::size_t i = 0; i < rows; ++i) {
    json.begin_array();
    for (std::size_t j = 0; j < rows; ++j) json.value(static_cast<double>(entry(i, j)));
    json.end_array();
  }
  json.end_array();
}

// "status", "verdict", "success", "message"
void outcome_json(JsonWriter& json, const Summary& summary);
void minima_json(JsonWriter& json, const std::vector<FitMinimum>& minima);
// "certificate" to "time". `free`: the names of the free parameters.
void summary_json(JsonWriter& json, const Summary& summary, const std::vector<std::string>& free);

}  // namespace nlsq::inline v0::c
