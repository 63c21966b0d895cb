// Separable least squares on a sample: y ~ Σ c_k φ_k(q), linear in c for given q. Guesses of the built-in
// models use it.
//
// For given q, a small orthogonalisation gives the best c, so that only q is searched (Golub and Pereyra,
// SIAM J. Numer. Anal. 10 (1973) 413). The search evaluates all starts and improves the best few by damped
// Gauss-Newton on the projected residual.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace nlsq::inline v0::guessing {

struct Separable {
  std::span<const double> y;
  int linear = 1;
  // Limits of q, which the search respects. q should be of order one (logarithms of rates and widths).
  std::vector<double> lower, upper;
  // Fills `linear` columns of y.size() values each. Non-finite values reject q.
  std::function<void(std::span<const double> q, double* columns)> basis;
};

struct Solution {
  std::vector<double> q, c;
  double rss = std::numeric_limits<double>::infinity();
};

// Least squares of `residual` (y on entry, y - B c on return) on `linear` columns, which are overwritten.
// Columns that depend on earlier ones get coefficient 0. Returns the residual sum of squares; infinity if it
// is not finite.
double project(std::span<double> residual, int linear, double* columns, double* c);

Solution solve(const Separable& problem, std::vector<double> q);

// Takes at most `iterations` damped steps. The result is never worse than `start`.
Solution improve(const Separable& problem, Solution start, int iterations = 12);

// Evaluates all starts and improves the best `keep`. Returns finite q and c, even if no start is usable.
Solution search(const Separable& problem, const std::vector<std::vector<double>>& starts, int keep = 3);

// `count` values from low to high, evenly spaced.
std::vector<double> grid(double low, double high, int count);

}  // namespace nlsq::inline v0::guessing
