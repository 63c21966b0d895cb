// Runs one fit from the command line: reads the data, chooses the model, fits, reports.
#pragma once

#include "arguments/arguments.hpp"
#include "arguments/model_choice.hpp"
#include "prediction/prediction_results.hpp"
#include "table/data_selection.hpp"

#include <nlsq/compare.hpp>
#include <nlsq/curve_fit.hpp>
#include <nlsq/policy_profile.hpp>
#include <nlsq/profile_intervals.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nlsq::cli {

// The data of a text report or JSON object.
struct FitReport {
  const Arguments& arguments;
  const FitData& data;
  const ModelChoice& model;
  const FitResult& fit;
  double read_seconds = 0;
  double total_seconds = 0;
  bool was_interrupted = false;
  std::vector<std::string> warnings = {};
  std::optional<PolicyProfile> profile = {};       // from --profile
  std::optional<OptimizedPolicy> optimized = {};   // from --optimize
  std::optional<ProfileIntervals> intervals = {};  // from --intervals profile
  PredictionResults after = {};                    // from --predict, --derive, --bootstrap
  const ModelComparison* comparison = nullptr;     // from --compare
  std::optional<FitResult> fitted_after = {};  // with --certify: a fit from parameters that are no minimum

  std::string doubt = {};  // why a certified end is no success all the same; empty: it is one

  bool success() const { return fit.success() && doubt.empty(); }
  // Degrees of freedom of the intervals. Infinite with absolute sigma.
  double interval_dof() const;
  // Half-width of a parameter's interval in standard errors. NaN without degrees of freedom.
  double interval_factor() const;
  // The interval of parameter j: by profile likelihood if requested, otherwise from its standard error. May
  // contain NaN and infinities.
  std::pair<double, double> interval(std::size_t j) const;
};

int fit_command(const Arguments& arguments);

}  // namespace nlsq::cli
