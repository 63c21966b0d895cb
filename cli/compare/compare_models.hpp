// Fits several models to the same data for --compare. fit_command.cpp uses it.
#pragma once

#include "arguments/arguments.hpp"
#include "arguments/model_choice.hpp"
#include "table/data_selection.hpp"

#include <nlsq/compare.hpp>

#include <functional>

namespace nlsq::cli {

// Holds the command line as it applies to one model. Starting values, bounds, fixed and tied parameters that
// this model does not have are left out. `arguments.p0` has all starting values, also those of a file.
struct OneModel {
  Arguments arguments;
  ModelChoice model;
};

struct ComparedModels {
  ModelComparison comparison;
  Arguments arguments;  // of the first model of the comparison
  bool interrupted = false;
};

using FitOneModel = std::function<FitResult(const OneModel&)>;

// Fits each model and ranks them. A model that cannot be fitted is listed with the reason. Throws UsageError
// for a text that is no model and for a name that no model has. Throws BadData or UsageError if no model can
// be fitted at all.
ComparedModels compare_models(const Arguments& arguments, const NamedValues& p0, const FitData& data,
                              const FitOneModel& fit);

}  // namespace nlsq::cli
