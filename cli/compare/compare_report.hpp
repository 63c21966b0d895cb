// Writes the comparison of models in the text report and in JSON. report.cpp and json_report.cpp use it.
#pragma once

#include <nlsq/compare.hpp>
#include <nlsq/json/writer.hpp>

#include <string>

namespace nlsq::cli {

// Returns the table of models, the tests of nested pairs, and warnings. The text ends with an empty line.
std::string comparison_table(const ModelComparison& comparison);

// Writes `comparison`, `comparison_tests` and `comparison_warnings`.
void add_comparison_json(JsonWriter& json, const ModelComparison& comparison);

}  // namespace nlsq::cli
