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

// Throws ValidationError for a formula that uses no predictor, although it has some, and has several
// parameters. Then a name that was meant for a column was taken for a parameter, and the model is a constant,
// from which no data can determine several parameters.
void check_uses_predictors(const Formula& formula);

// Returns the formula of a text, where `columns` columns of x are named x, or x1, x2, ... Throws DataError
// for a formula that names x where there is no column: x would be taken for a parameter. Calls
// check_uses_predictors().
Formula formula_of_columns(std::string_view text, std::size_t columns);

// Throws ValidationError for a loss of the user's own, which only Problem has.
void check_named(const Loss& loss);

// Returns the position of the parameter with that name. Throws ValidationError if there is none; its message
// begins with `option`.
std::size_t parameter_index(const std::vector<std::string>& names, const std::string& name,
                            const char* option);

// Returns the bounds of all parameters; empty if none is bounded. Throws ValidationError that lists every
// fault: sizes, NaN, crossed bounds, bounds of a tied parameter.
Limits limits_of(const Bounds& bounds, const std::vector<std::string>& names, const Ties& ties = {});
Limits limits_of_free(const Limits& limits, const std::vector<int>& free);
// Returns those of the `free` parameters that have no bound. The limits are of these parameters.
std::vector<int> without_bounds(const std::vector<int>& free, const Limits& limits);
// Throws ValidationError that names every value outside the limits. `what` describes the values.
void check_within(const Limits& limits, const std::vector<std::string>& names,
                  const std::vector<double>& values, const char* what);
// Returns SciPy's default start: 1, or a point inside the bounds if these exclude 1.
std::vector<double> default_start(std::size_t parameters, const Limits& limits);
bool has_value(const NamedValues& values, std::string_view name);
// Returns the values with their names. Tied parameters are left out.
NamedValues named_values(const std::vector<std::string>& names, std::span<const double> values,
                         const Ties& ties = {});
// Returns the names without a value in p0.
std::vector<std::string> without_start(const std::vector<std::string>& names, const NamedValues& p0);

// Returns starting values in the order of `names`. Parameters without one get `fallback`, moved within the
// limits, and tied ones follow from the others. Throws ValidationError for an unknown or repeated name, or a
// value that is not finite or lies outside the limits.
std::vector<double> starting_values(const std::vector<std::string>& names, const NamedValues& given,
                                    const std::vector<double>& fallback, const Limits& limits = {},
                                    const Ties& ties = {});

// Returns the indices of the parameters that are not fixed, not tied, and have no equal bounds. Throws
// ValidationError for an unknown name.
std::vector<int> free_parameters(const std::vector<std::string>& names, const std::vector<std::string>& fixed,
                                 const Ties& ties = {}, const Limits& limits = {});

// Throws ValidationError if a tied parameter has a starting value.
void check_starts(const NamedValues& p0, const std::vector<std::string>& names, const Ties& ties);

// Data of a fit: columns of `form`. Large data are checked later, in the first pass.
struct SurveyedRows {
  std::shared_ptr<const RowSource> rows;
  ResidualForm form;
  std::shared_ptr<DataSurvey> survey;
};
// Collects and checks the data of a fit. The options contain sigma, the errors in x and the loss. Throws
// DataError if there are no rows or lengths disagree, and in the cases of DataSurvey. Throws ValidationError
// if the options contradict each other.
SurveyedRows surveyed_rows(const Columns& x, const Column& y, const FitOptions& options,
                           const std::vector<std::string>& predictor_names);
SurveyedRows surveyed_rows(std::shared_ptr<const RowSource> rows, const FitOptions& options,
                           std::vector<std::string> predictor_names);

// Returns why a callable that has no form for a recording is called directly. `dual` says that it takes dual
// numbers.
inline const char* why_not_recorded(bool dual) {
  return dual ? "the callable asked not to be recorded" : "the callable takes double alone";
}
inline constexpr const char* kRecordingDiscarded =
    "the recording disagreed with the callable re-evaluated in double and was discarded";

// Returns the error message for data that have fewer rows than the model has free parameters.
std::string lack_of_rows(std::size_t rows, std::size_t free);
// Throws DataError if there are fewer rows than free parameters.
void check_counts(std::size_t rows, std::size_t free);

// certify() of any kind of model is judged(fit(..., without_steps(options))).
//
// Returns the options for a fit, or for a solve, that makes no step and is evaluated in f64 (certify.cpp,
// certify_problem.cpp).
FitOptions without_steps(FitOptions options);
SolverOptions without_steps(SolverOptions options);
// Sets the message of the result of such a fit: whether the parameters are certified (certify.cpp).
FitResult judged(FitResult fit);
// Throws ValidationError that names every parameter that has neither a value nor a tie.
void check_values_to_judge(const std::vector<std::string>& names, const NamedValues& given,
                           std::span<const std::string> ties);

}  // namespace nlsq::inline v0
