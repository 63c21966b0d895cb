// Checks that curve_fit and related functions share: options, bounds, names, free parameters and data.
#pragma once

#include "dense/data_survey.hpp"
#include "minimizer/box.hpp"

#include <nlsq/column.hpp>
#include <nlsq/curve_fit.hpp>
#include "expression/ties.hpp"
#include "rows/residual_form.hpp"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nlsq::inline v0 {

// Throws ValidationError that lists every violation of the options.
void check_options(const SolverOptions& options, std::span<const std::string> components = {});
void check_options(const FitOptions& options);

// Refuses a formula that uses no predictor, although it has some, and has several parameters. A name that was
// meant for a column is a parameter then, and no data can divide one constant among several. Throws
// ValidationError.
void check_uses_predictors(const Formula& formula);

// A formula of the names that so many columns of x have: x, or x1, x2, ... Throws DataError for a formula
// that names x where there is no column: x would be taken for a parameter. Calls check_uses_predictors().
Formula formula_of_columns(std::string_view text, std::size_t columns);

// Throws ValidationError for a loss of the user's own, which only Problem has.
void check_named(const Loss& loss);

// The position of the parameter with that name. Throws ValidationError that begins with `option` if there is
// none.
std::size_t parameter_index(const std::vector<std::string>& names, const std::string& name,
                            const char* option);

// Bounds of all parameters; empty if none is bounded. Throws ValidationError that lists every fault: sizes,
// NaN, crossed bounds, bounds of a tied parameter.
Limits limits_of(const Bounds& bounds, const std::vector<std::string>& names, const Ties& ties = {});
Limits limits_of_free(const Limits& limits, const std::vector<int>& free);
// Those of the `free` parameters that have no bound. The limits are of these parameters.
std::vector<int> without_bounds(const std::vector<int>& free, const Limits& limits);
// Throws ValidationError that names every value outside the limits. `what`: whose values they are.
void check_within(const Limits& limits, const std::vector<std::string>& names,
                  const std::vector<double>& values, const char* what);
// SciPy's default start: 1, or a point inside the bounds if these exclude 1.
std::vector<double> default_start(std::size_t parameters, const Limits& limits);
// Whether there is a value of this name.
bool has_value(const NamedValues& values, std::string_view name);
// The values by name. Tied parameters have none of their own.
NamedValues named_values(const std::vector<std::string>& names, std::span<const double> values,
                         const Ties& ties = {});
// The names without a value in p0.
std::vector<std::string> without_start(const std::vector<std::string>& names, const NamedValues& p0);

// Starting values by name. Parameters without one get `fallback`, moved within the limits. Throws
// ValidationError for an unknown or repeated name, or a value that is not finite or lies outside the limits.
std::vector<double> starting_values(const std::vector<std::string>& names, const NamedValues& given,
                                    const std::vector<double>& fallback, const Limits& limits = {});

// Indices of the parameters that are not fixed, not tied, and have no equal bounds. Throws ValidationError
// for an unknown name.
std::vector<int> free_parameters(const std::vector<std::string>& names, const std::vector<std::string>& fixed,
                                 const Ties& ties = {}, const Limits& limits = {});

// Throws ValidationError if a tied parameter has a starting value.
void check_starts(const NamedValues& p0, const std::vector<std::string>& names, const Ties& ties);

// Data of a fit: columns of `form`. Large data are checked later, in the first pass.
struct FitData {
  std::shared_ptr<const RowSource> rows;
  ResidualForm form;
  std::shared_ptr<DataSurvey> survey;
};
// The options give sigma, the errors in x and the loss. Throws DataError if there are no rows or lengths
// disagree, and in the cases of DataSurvey. Throws ValidationError if the options contradict each other.
FitData fit_data(const Columns& x, const Column& y, const FitOptions& options,
                 const std::vector<std::string>& predictor_names);
FitData fit_data(std::shared_ptr<const RowSource> rows, const FitOptions& options,
                 std::vector<std::string> predictor_names);

// Why a callable that has no form for a recording is called by itself. `dual`: it takes dual numbers.
inline const char* why_not_recorded(bool dual) {
  return dual ? "the callable asked not to be recorded" : "the callable takes double alone";
}
inline constexpr const char* kRecordingDiscarded =
    "the recording disagreed with the callable re-evaluated in double and was discarded";

// Throws DataError if there are fewer rows than free parameters.
void check_counts(std::size_t rows, std::size_t free);

// certify() of any kind of model is judged(fit(..., without_steps(options))).
//
// Returns the options for a fit, or for a solve, that makes no step and is evaluated in f64 (certify.cpp,
// certify_problem.cpp).
FitOptions without_steps(FitOptions options);
SolverOptions without_steps(SolverOptions options);
// Gives the result of such a fit a message that says whether the parameters are certified (certify.cpp).
FitResult judged(FitResult fit);

}  // namespace nlsq::inline v0
