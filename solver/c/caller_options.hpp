// Declares the options behind a handle nlsq_options, and the library's options that follow from them.
#pragma once

#include "c/caller_columns.hpp"
#include "c/handles.hpp"
#include "c/named_lists.hpp"

#include <nlsq/c/options.h>
#include <nlsq/curve_fit.hpp>
#include <nlsq/differences.hpp>
#include <nlsq/least_squares.hpp>
#include <nlsq/options.hpp>
#include <nlsq/precision_policy.hpp>
#include <nlsq/precision_rule.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nlsq::inline v0::c {

struct Options : Object {
  static constexpr Kind kKind = Kind::options;
  Options() : Object(kKind) {}

  FitOptions fit;  // without bounds, columns, loss and precision, which are below
  std::optional<std::string> loss;
  std::optional<double> f_scale;
  std::optional<PrecisionPolicy> precision;
  std::vector<PrecisionRule> rules;
  std::vector<NamedBounds> bounds;
  std::vector<std::pair<std::string, std::optional<double>>> fixed;
  std::vector<double> lower, upper, x_scale;
  std::map<std::string, nlsq_column, std::less<>> columns;  // "sigma", "sigma_x0" ...
  double confidence = 0.95;
  bool residuals = true;
  double recheck_tolerance = 1e-9;
  bool in_lanes = true;
  Differences differences = Differences::central;
  nlsq_progress progress = nullptr;
  void* user = nullptr;
  std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);

  // Sets one option from the table in option_table.cpp. Throws ValidationError.
  void set(std::string_view name, std::string_view value);
  void set(std::string_view name, double value);

  // Returns all options that apply to each solve: precision, callback.
  SolverOptions solver_options() const;
  // Returns the loss alone. Throws ValidationError for a scale without a robust loss.
  Loss loss_function() const;
  // Returns the options of a curve with these parameters. `columns` keeps the columns that had to be copied.
  // Throws ValidationError for names that are no parameters.
  FitOptions curve_options(const std::vector<std::string>& parameters, std::size_t predictors,
                           CallerColumns& columns) const;
  LeastSquaresOptions least_squares_options() const;
  // Returns the array x_scale for n parameters, or nothing if it was not set.
  std::vector<double> scale_of(std::size_t n) const;
  SolverOptions problem_options() const;
  // Returns the values that the option fix gives.
  NamedValues fixed_values() const;
  bool stop_wanted() const { return cancelled->load(std::memory_order_relaxed); }
};

// Returns the options of a handle, which may be NULL.
std::shared_ptr<const Options> options_of(const nlsq_options* handle);

}  // namespace nlsq::inline v0::c
