// Declares the parts of curve fits of models behind handles.
#pragma once

#include "c/caller_model.hpp"
#include "c/caller_options.hpp"
#include "c/results/caller_result.hpp"

#include <nlsq/columns.hpp>
#include <nlsq/curve_fit.hpp>

#include <memory>
#include <span>

namespace nlsq::inline v0::c {

// Holds the arguments of a function that fits a model to data, as the library takes them.
struct CurveCall {
  const CallerModel& model;
  const Options& options;
  CallerColumns columns;
  Columns x;
  Column y;
  FitOptions fit;

  // Throws DataError, ArgumentError or ValidationError for wrong arguments.
  CurveCall(const CallerModel& model, const nlsq_column* x, std::size_t predictors, const nlsq_column* y,
            const Options& options);
};

// Returns the curve fit behind a handle. Throws ArgumentError if it is not a result of this model
// (interval_calls.cpp).
std::shared_ptr<const CurveResult> fit_of(const nlsq_result* handle, const CallerModel& model);

// Throws DataError unless y has as many rows as the data of the fit (interval_calls.cpp).
void check_rows(const CurveCall& call, const CurveResult& of);

// Fits any model. `p0` holds the known starting values.
FitResult fit_model(const CallerModel& model, const Columns& x, const Column& y, const NamedValues& p0,
                    const FitOptions& options, Differences differences);

// Fits a callback, which computes all rows in one call (callback_fit.cpp).
FitResult fit_callback(const CallerModel& model, const Column& y, const NamedValues& p0,
                       const FitOptions& options, Differences differences);

// Computes the sums of the rows of a callback, for a fit from sums (fit/row_sums.hpp).
void add_up_callback(const CallerModel& model, const Column& y, const FitOptions& options,
                     const std::vector<double>& p, std::span<double> sums);

// Computes values and derivatives at p (evaluate_calls.cpp). Throws ArgumentError if x has another number of
// rows.
void evaluate_model(const CallerModel& model, const Columns& x, std::size_t rows,
                    const std::vector<double>& p, const Options& options, double* values, double* jacobian);

// Compares the model with its recheck callback on all rows at p. Throws RecheckFailed (recheck.cpp).
void recheck_model(const CallerModel& model, const Columns& x, std::size_t rows, const std::vector<double>& p,
                   double tolerance, const char* when);

// Returns how far the rounding of its operations may move a tape's value in one row, if each result has the
// relative error `share`. It is the largest change by four perturbations, and 0 for other models
// (recheck.cpp).
double rounding_of(const CallerModel& model, const Columns& x, std::size_t row, const std::vector<double>& p,
                   double share);

}  // namespace nlsq::inline v0::c
