// Separable least squares on a sample: y ~ Σ c_k φ_k(q), linear in c given q.
//
// For given q the best c follows from a small orthogonalisation, so that only q is searched
// (Golub and Pereyra, SIAM J. Numer. Anal. 10 (1973) 413): starts are tried, the best few are
// improved by damped Gauss-Newton on the projected residual.
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
  // Limits of q; the search stays inside. q should be of order one (logarithms of rates and widths).
  std::vector<double> lower, upper;
  // Fills `linear` columns of y.size() values each. Values that are not finite reject q.
  std::function<void(std::span<const double> q, double* columns)> basis;
};

struct Solution {
  std::vector<double> q, c;
  double rss = std::numeric_limits<double>::infinity();
};

// Least squares of `residual` (y on entry, y - B c on return) on `linear` columns, which are
// overwritten. Columns that depend on earlier ones get coefficient 0. Infinity when not finite.
double project(std::span<double> residual, int linear, double* columns, double* c);

Solution solve(const Separable& problem, std::vector<double> q);

// At most `iterations` damped steps; never worse than `start`.
Solution improve(const Separable& problem, Solution start, int iterations = 12);

// The best of all starts, the best `keep` of them improved. Always finite q, c, even if no start is usable.
Solution search(const Separable& problem, const std::vector<std::vector<double>>& starts, int keep = 3);

// `count` values from low to high, evenly spaced.
std::vector<double> grid(double low, double high, int count);

}  // namespace nlsq::inline v0::guessing
