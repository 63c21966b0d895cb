// Declares the terms of a fitted sum of models, each with its own values: for pictures and the residual file.
#pragma once

#include "fit_command.hpp"

#include <nlsq/column.hpp>

#include <string>
#include <vector>

namespace nlsq::cli {

// This is one term of the sum, without the constant that all terms share.
struct Component {
  std::string label, model;  // "g1", "gaussian"
  std::vector<double> values;
};

// Returns the terms' values at the predictors given. The result is empty unless the model is a sum.
std::vector<Component> components_at(const FitReport& report, const std::vector<Column>& predictors);

// Returns the constant that the terms share, or 0 if there is none.
double shared_constant(const FitReport& report);

}  // namespace nlsq::cli
