// Computes the derivatives of a callback at one point, by differences.
#include "c/caller_model.hpp"
#include "c/errors.hpp"
#include "certificate/certificate.hpp"
#include "certificate/difference_errors.hpp"
#include "dense/dense_evaluator.hpp"
#include "dense/row_groups.hpp"
#include "expression/names.hpp"
#include "fit/fit_setup.hpp"
#include "support/constants.hpp"
#include "support/fp_environment.hpp"

#include "rows/calls/fallback_rows.hpp"

#include <nlsq/c/fit.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace nlsq::inline v0::c {

namespace {

VectorFunction values_of(const Callback& callback, std::size_t rows) {
  VectorFunction function;
  function.concurrent = false;
  function.value = [&callback, rows](std::span<const double> p) {
    std::vector<double> f(rows, std::numeric_limits<double>::quiet_NaN());
    callback.call(p.data(), f.data(), nullptr);
    return f;
  };
  return function;
}

// Returns the relative error of standard errors that are computed from J, or 0 if J has the usual errors.
// Nearly dependent columns magnify the errors of J. These are independent from row to row, so their effect
// falls with the root of the number of rows. `squares` has ‖error‖² of each column.
double error_of_standard_errors(const Linearization& at, std::span<const double> squares, std::size_t rows) {
  constexpr double kUsual = 1e-9;  // relative error of J
  if (!at.finite) return kInfinity;
  double sum = 0;
  for (std::size_t j = 0; j < squares.size(); ++j) {
    if (std::isinf(squares[j])) return kInfinity;
    if (at.normal(j, j) > 0) sum += squares[j] / at.normal(j, j);
  }
  if (sum <= kUsual * kUsual) return 0;
  Certified judged;
  if (!judge_covariance(at, judged)) return kInfinity;
  return std::sqrt(sum * judged.certificate.condition / static_cast<double>(rows));
}

double differentiate(const CallerModel& model, std::size_t rows, const std::vector<double>& p,
                     const Options& options, double* values, double* jacobian) {
  constexpr double kMatters = 5e-3;  // errors of standard errors, for a single row
  const FpEnvironment environment;
  const std::size_t n = p.size();
  const LeastSquaresOptions wanted = options.least_squares_options();
  const Limits limits = limits_of(wanted.bounds, model.parameters);
  check_within(limits, model.parameters, p, "p");
  const std::vector<int> free = all_parameters(n);
  VectorRows made(values_of(model.callback, rows), p, free, {}, {}, limits.lower, limits.upper,
                  wanted.differences);
  made.start_at({});  // derivatives must be exact at p
  const std::vector<double> scale = options.scale_of(n);
  if (!scale.empty()) made.set_typical(scale);
  DenseEvaluator evaluator(made);
  Linearization at = evaluator.linearize(p, kF64Plan);
  Vector squares = made.apparent_errors(p);
  if (at.finite && error_of_standard_errors(at, squares, 1) > kMatters) {
    const Vector measured = extrapolate_derivatives(evaluator, p, at);
    if (!measured.empty()) squares = measured;
  }
  for (std::size_t j = 0; j < n && !limits.lower.empty(); ++j) {
    // The steps stay within the bounds. So a difference quotient divides the rounding errors of the values by
    // at most the room between the bounds.
    const double room = limits.upper[j] - limits.lower[j], rounding = 2 * kUnitRoundoff / room;
    squares[j] = room > 0 ? std::max(squares[j], rounding * rounding * 2 * at.cost) : kInfinity;
  }
  for_each_tile(made, p, [&](const TileRange& tile, const double* const* columns) {
    std::copy_n(columns[n], tile.count, values + tile.first);
    for (std::size_t i = 0; i < tile.count; ++i) {
      for (std::size_t j = 0; j < n; ++j) jacobian[(tile.first + i) * n + j] = columns[j][i];
    }
  });
  return error_of_standard_errors(at, squares, rows);
}

}  // namespace

}  // namespace nlsq::inline v0::c

using namespace nlsq::c;

extern "C" {

int nlsq_model_differentiate(const nlsq_model* model, size_t rows, const double* p,
                             const nlsq_options* options, double* values, double* jacobian, double* error) {
  return guarded([&] {
    const auto object = from_handle<CallerModel>(model);
    if (!object->is_callback()) throw ArgumentError("model: it is no callback; use nlsq_model_evaluate");
    if (rows == 0) throw ArgumentError("rows is 0: a callback has at least one row");
    const std::vector<double> point(required(p, "p"), p + object->parameters.size());
    *required(error, "error") = differentiate(*object, rows, point, *options_of(options),
                                              required(values, "values"), required(jacobian, "jacobian"));
  });
}

}  // extern "C"
