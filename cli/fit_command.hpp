// Runs one fit from the command line: reads the data, chooses the model, fits, and reports.
#pragma once

#include "arguments/arguments.hpp"
#include "arguments/model_choice.hpp"
#include "prediction/prediction_results.hpp"
#include "table/data_selection.hpp"
#include "table/joined/input_files.hpp"

#include <nlsq/compare.hpp>
#include <nlsq/curve_fit.hpp>
#include <nlsq/policy_profile.hpp>
#include <nlsq/profile_intervals.hpp>

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace nlsq::cli {

// Holds the contents of a text report or JSON object.
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
  std::optional<FitResult> fitted_after = {};  // with --certify: a fit from parameters that are not a minimum

  std::vector<InputFile> files = {};  // for --json
  // Returns the degrees of freedom of the intervals. They are infinite with absolute sigma.
  double interval_dof() const;
  // Returns the half-width of a parameter's interval in standard errors, or NaN without degrees of freedom.
  double interval_factor() const;
  // Returns the interval of parameter j: by profile likelihood if requested, otherwise from its standard
  // error. It may contain NaN and infinities.
  std::pair<double, double> interval(std::size_t j) const;
};

// Returns the options of the library. `parameters` has the names of all parameters of the model.
FitOptions fit_options(const Arguments& arguments, const FitData& data,
                       const std::vector<std::string>& parameters);
// Returns the starting values. Those of the command line override those of a file; so do ties.
NamedValues starting_values(const Arguments& arguments);
// Returns the files that are read: tables, and those of --p0 @FILE and --predict. No output may overwrite
// them.
std::vector<std::string> inputs_of(const Arguments& arguments);
// Returns the parameter of a tie, "name=expression".
std::string tied_name(const std::string& tie);
// Returns true if one of the ties gives this parameter its value.
bool is_tied(const std::vector<std::string>& ties, const std::string& name);
// Returns warnings about what was read and chosen, before any fit.
std::vector<std::string> warnings_of(const FitData& data, const ModelChoice& model);
// Returns the names of parameters, from their indices among the free ones.
std::vector<std::string> free_names(const FitResult& fit, std::span<const int> indices);
// Returns the names that the command line gives to parameters.
std::vector<std::string> names_given(const Arguments& arguments, const NamedValues& p0);
// Throws UsageError for a name that is no parameter of the model.
void check_names(const NamedValues& p0, const Arguments& arguments, const Formula& formula);

// Fits as the arguments say, reports, and returns the exit status.
int fit_command(const Arguments& arguments);

}  // namespace nlsq::cli
