// least_squares: minimizes ½‖r(p)‖², or ½ Σ ρ(r²) with a loss, where one function returns all residuals. It
// corresponds to SciPy's least_squares.
#pragma once

#include <nlsq/callable.hpp>
#include <nlsq/differences.hpp>
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

// The options of least_squares. m is the number of residuals, n that of parameters.
struct LeastSquaresOptions : SolverOptions {
  // The user's Jacobian at p: fills `J`, m x n, row-major. If it is empty, the callable is recorded. If that
  // is not possible, it is called with dual numbers, or else differenced in f64.
  std::function<void(std::span<const double> p, std::span<double> J)> jacobian = {};
  // Selects how a callable that takes only double is differenced. `central` makes two calls per parameter.
  // `ridders` makes about ten, and gives derivatives to ten digits if the residuals are accurate to all
  // digits.
  Differences differences = Differences::central;
  // Names groups of consecutive residuals (of a sensor, of a data set): {{"imu", 600}, {"gps", 40}}. A policy
  // can set their formats (`imu.residual=f64`), and precision is raised only for the group that needs it. The
  // groups must cover all residuals. If this is empty, there are no names.
  std::vector<RowComponent> components = {};
  // A robust loss, which reduces the weight of outliers (docs/losses.md). Loss poisson is not allowed here;
  // it is for curve fits only.
  Loss loss = {};
  // {lower, upper} bounds of the parameters, as in FitOptions.
  Bounds bounds = {};
  // Number of starts, as in FitOptions: x0, and others from a seeded Latin hypercube.
  int starts = 1;
  std::uint64_t seed = 1;
};

// Holds the result of least_squares.
struct LeastSquaresResult {
  // n parameters
  std::vector<double> x;
  std::vector<double> residuals;  // m residuals at x, by the user's callable, without the loss
  // n values, scaled by the residuals; NaN if undetermined or on a bound
  std::vector<double> standard_errors;
  // n x n; NaN as above
  Matrix covariance;
  double cost = 0;  // ½ Σ ρ(r²); ½‖r‖² without a loss
  // n entries: -1 if x is on its lower bound, 1 on its upper bound (-1 if on both), 0 on neither
  std::vector<int> active_mask;
  // With options.starts > 1, the minima that were found; otherwise empty. The result is first, the others
  // follow by cost, uncertified ones last.
  std::vector<FitMinimum> minima;
  Summary summary;  // of the start that led here
  bool success() const { return is_success(summary.verdict); }
};

// Minimizes from x0, which has n finite values. Throws ValidationError for options or starting values that
// break a rule, and DataError for fewer residuals than parameters. Exceptions of the callable pass through. A
// solve that does not converge is no error: see LeastSquaresResult::success().
NLSQ_API LeastSquaresResult least_squares(const VectorFunction& residuals, const std::vector<double>& x0,
                                          const LeastSquaresOptions& options = {});

// Minimizes fun(p), which returns a vector of residuals; p can be indexed. It is generic in its scalar, or
// takes double only.
template <class F>
requires(!std::convertible_to<F, const VectorFunction&>) LeastSquaresResult
    least_squares(F fun, const std::vector<double>& x0, const LeastSquaresOptions& options = {}) {
  return least_squares(make_vector_function(std::move(fun)), x0, options);
}

}  // namespace nlsq::inline v0
