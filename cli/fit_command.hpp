// The whole of a fit as the command sees it: read, choose, fit, report.
#pragma once

#include "arguments/arguments.hpp"
#include "arguments/model_choice.hpp"
#include "table/data_selection.hpp"

#include <nlsq/curve_fit.hpp>
#include <nlsq/policy_profile.hpp>
#include <nlsq/profile_intervals.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nlsq::cli {

// Everything a report or a JSON object tells.
struct FitReport {
  const Arguments& arguments;
  const FitData& data;
  const ModelChoice& model;
  const FitResult& fit;
  double read_seconds = 0;
  double total_seconds = 0;
  bool was_interrupted = false;
  std::vector<std::string> warnings = {};
  std::optional<PolicyProfile> profile = {};       // of --profile
  std::optional<OptimizedPolicy> optimized = {};   // of --optimize
  std::optional<ProfileIntervals> intervals = {};  // of --intervals profile

  // Degrees of freedom of the intervals: infinite with absolute sigma.
  double interval_dof() const;
  // Half-width of the interval of a parameter in standard errors; NaN without degrees of freedom.
  double interval_factor() const;
  // The interval of parameter j: by profile likelihood where that was asked for, else from its standard
  // error. NaN and infinities as they come.
  std::pair<double, double> interval(std::size_t j) const;
};

int fit_command(const Arguments& arguments);

}  // namespace nlsq::cli
