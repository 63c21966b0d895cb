// Errors of a Jacobian that is computed by differences.
#pragma once

#include "dense/dense_evaluator.hpp"

#include <nlsq/summary.hpp>

#include <cstddef>
#include <span>

namespace nlsq::inline v0 {

// Returns the relative error of the standard errors that errors of J by differences cause. These are
// independent from row to row, so their effect falls with the root of the number of rows.
double error_by_differences(const Linearization& at, const Certificate& c, std::size_t rows);
// Returns the square of the relative error of J that an error of 1 in each residual causes, over the columns
// that are computed by differences: Σ 1 / (width · ‖column‖)². It is 0 if there is no such column.
double squared_error_of_differences(const Evaluator& evaluator, std::span<const double> x,
                                    const Linearization& at);
// Above this error, standard errors are not known. It is an estimate, and usually several times too large.
inline constexpr double kStandardErrorsUnknown = 0.02;

// Replaces `at`, a pass in f64 at x by usual differences, by a pass with extrapolated ones. Returns estimates
// of ‖error of column j‖² for the columns of J. Returns nothing, and leaves `at` as it is, if differences
// cannot be extrapolated there.
Vector extrapolate_derivatives(DenseEvaluator& evaluator, std::span<const double> x, Linearization& at);
// Does the same if rounding errors, divided by the widths of the differences, may exceed the errors that
// differences usually have. `magnitude` is the norm of the terms of the residuals. Returns nothing if the
// errors are the usual ones, and bounds of the errors if differences cannot be extrapolated.
Vector refine_derivatives(DenseEvaluator& evaluator, std::span<const double> x, double magnitude,
                          Linearization& at);

}  // namespace nlsq::inline v0
