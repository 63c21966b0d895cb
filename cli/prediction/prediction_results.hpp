// Declares the results after a fit: predictions, derived quantities and the bootstrap. fit_command.cpp
// computes them, and the reports show them.
#pragma once

#include "arguments/arguments.hpp"
#include "arguments/model_choice.hpp"
#include "prediction/prediction_points.hpp"

#include <nlsq/bootstrap.hpp>
#include <nlsq/derived.hpp>
#include <nlsq/prediction.hpp>

#include <optional>
#include <string>
#include <vector>

namespace nlsq::cli {

struct PredictionResults {
  std::vector<DerivedQuantity> derived;
  std::optional<Bootstrap> bootstrap;
  std::optional<Prediction> prediction;
  std::vector<std::string> predictors;   // names of the columns of x
  std::vector<std::vector<double>> x;    // where the prediction is
  std::vector<const TimeOrigin*> times;  // the first dates of the predictors; null for other columns
  bool by_profile = false;               // the band
  bool interrupted = false;              // by Ctrl-C; what is left is undefined
};

// Throws UsageError for a --derive that does not fit the model. It is called before the fit, which may take
// long.
void check_derived(const Arguments& arguments, const ModelChoice& model);

// Computes what the options ask for, and adds warnings. Throws the library's exceptions.
PredictionResults after_fit(const Arguments& arguments, const ModelChoice& model, const FitData& data,
                            const FitOptions& options, PredictionPoints points, const FitResult& fit,
                            std::vector<std::string>& warnings);

// Writes --csv, if it is given: the predictors, fit, conf_low, conf_high, pred_low, pred_high.
void write_prediction_csv(const Arguments& arguments, const PredictionResults& results);

}  // namespace nlsq::cli
