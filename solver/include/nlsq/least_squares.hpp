// Residuals as one vector function of the parameters: SciPy's least_squares. Minimises ½‖r(p)‖², or ½ Σ
// ρ(r²).
#pragma once

#include <nlsq/callable.hpp>
#include <nlsq/differences.hpp>
#include <nlsq/fit_minimum.hpp>
#include <nlsq/matrix.hpp>
#include <nlsq/options.hpp>
#include <nlsq/row_ranges.hpp>
#include <nlsq/summary.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

struct LeastSquaresOptions : SolverOptions {
  // The user's Jacobian at p: fills `J`, row-major, residuals x parameters. Empty: the callable is
  // recorded, else called with dual numbers, else differenced in f64.
  std::function<void(std::span<const double> p, std::span<double> J)> jacobian = {};
  // How a callable that takes double alone is differenced: `central`, two calls a parameter, or `ridders`,
  // some ten, for derivatives to ten digits where the residuals have all of theirs.
  Differences differences = Differences::central;
  // Residuals that belong together (a sensor's, a data set's), by name and in their order: {{"imu", 600},
  // {"gps", 40}}. A policy can name their formats (`imu.residual=f64`), and what only one of them cannot bear
  // raises only that one. Together they have all residuals. Empty: no names.
  std::vector<RowComponent> components = {};
  // Robust losses: outliers count less (docs/losses.md). That of counts is of curve fits alone.
  Loss loss = {};
  // As in FitOptions: {lower, upper} of the parameters.
  Bounds bounds = {};
  // As in FitOptions: so many starts, x0 and others by a seeded Latin hypercube.
  int starts = 1;
  std::uint64_t seed = 1;
};

struct LeastSquaresResult {
  std::vector<double> x;
  std::vector<double> residuals;        // at x, by the user's callable; a loss is not applied
  std::vector<double> standard_errors;  // scaled by the scatter; NaN where undetermined, and on a bound
  Matrix covariance;
  double cost = 0;               // ½ Σ ρ(r²), ½‖r‖² without a loss
  std::vector<int> active_mask;  // -1, 1: x is on its lower, its upper bound (both: -1); 0: on neither
  // options.starts > 1: the minima found, this one first, the others by cost, uncertified ones last. Else
  // empty.
  std::vector<FitMinimum> minima;
  Summary summary;  // of the start that led here
  bool success() const { return is_success(summary.verdict); }
};

NLSQ_API LeastSquaresResult least_squares(const VectorFunction& residuals, const std::vector<double>& x0,
                                          const LeastSquaresOptions& options = {});

// fun(p): p indexable, returning a vector of residuals; generic in its scalar, or double alone.
template <class F>
requires(!std::convertible_to<F, const VectorFunction&>) LeastSquaresResult
    least_squares(F fun, const std::vector<double>& x0, const LeastSquaresOptions& options = {}) {
  return least_squares(make_vector_function(std::move(fun)), x0, options);
}

}  // namespace nlsq::inline v0
