// --model: a built-in model by name, or a formula whose names are sorted into predictors, response and
// parameters by what --x and --y chose.
#pragma once

#include "table/data_selection.hpp"

#include <nlsq/formula.hpp>
#include <nlsq/models.hpp>

#include <string>
#include <utility>
#include <vector>

namespace nlsq::cli {

struct ModelChoice {
  const Model* builtin = nullptr;
  Formula formula;                    // of the built-in model, too
  std::vector<std::string> notes;     // what a reader should know: "x is the column day"
  std::vector<std::string> warnings;  // a parameter that is named like a column not chosen
};

// A chosen predictor answers to its column's name; to x (x1 ... xk for several) where the formula uses none
// of those names. The response answers to its column's name, else to y. Throws UsageError.
ModelChoice choose_model(const std::string& text, const FitData& data);

// The starting values of an earlier fit's JSON, or of a plain {"a": 1, "b": 2}. Throws UsageError.
std::vector<std::pair<std::string, double>> read_start_file(const std::string& path);

}  // namespace nlsq::cli
