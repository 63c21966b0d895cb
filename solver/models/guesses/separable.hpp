// Separable least squares on a sample: y ~ Σ c_k φ_k(q), linear in c for given q. Guesses of the built-in
// models use it.
//
// For given q, a small orthogonalisation gives the best c, so that only q is searched (Golub and Pereyra,
// SIAM J. Numer. Anal. 10 (1973) 413). The search evaluates all starts, takes a few damped Gauss-Newton steps
// on the projected residual from the best of them, and improves the one that is then the lowest.
#pragma once

#include "models/guesses/sample.hpp"

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace nlsq::inline v0::guessing {

struct Separable {
  std::span<const double> y;
  std::span<const double> weight;  // of each residual; empty: 1
  std::span<const double> u;       // the abscissa; empty if `basis` has its own
  int linear;
  // Limits of q, which the search respects. q should be of order one (logarithms of rates and widths).
  std::vector<double> lower, upper;
  // More rows than these are averaged in groups to evaluate the starts, if not 0. This is for curves without
  // sharp features, with u in ascending or descending order.
  std::size_t thin_to;
  // Fills `linear` columns, one after the other, with a value for each row. Non-finite values reject q.
  std::function<void(std::span<const double> u, std::span<const double> q, double* columns)> basis = {};
  // The sample and `abscissa` must live as long as the problem.
  Separable(const Sample& sample, std::span<const double> abscissa, int linear_, std::vector<double> lower_,
            std::vector<double> upper_, std::size_t thin_to_ = 0)
      : y(sample.y), weight(sample.weight), u(abscissa), linear(linear_), lower(std::move(lower_)),
        upper(std::move(upper_)), thin_to(thin_to_) {}
};

struct Solution {
  std::vector<double> q, c;
  double rss = std::numeric_limits<double>::infinity();
};

// Fits `residual` (y on entry, y - B c on return) by least squares on `linear` columns, which are
// overwritten. Columns that depend on earlier ones get coefficient 0. Returns the residual sum of squares;
// infinity if it is not finite.
double project(std::span<double> residual, int linear, double* columns, double* c);

// Returns the squared weight of a row, or 1 if the rows have no weights.
inline double squared_weight(std::span<const double> weight, std::size_t row) {
  return weight.empty() ? 1.0 : weight[row] * weight[row];
}

// Multiplies `residual` and each of the `linear` columns by the weights of the rows, if there are any.
void apply_weight(std::span<const double> weight, std::span<double> residual, int linear, double* columns);

Solution solve(const Separable& problem, std::vector<double> q);

// Takes at most `iterations` damped steps. The result is never worse than `start`.
Solution improve(const Separable& problem, Solution start, int iterations = 12);

inline constexpr std::size_t kThinned = 128;  // this many rows distinguish good starts from bad ones

// Says how many of the starts a search examines further.
struct Effort {
  int keep = 3;        // a few steps are taken from this many starts
  int finalists = 2;   // and at most this many of them are improved to the end,
  double rival = 1.5;  // if their sum of squares is at most this many times the least
};

// Evaluates all starts and improves the best as described above. Returns finite q and c, even if no start is
// usable.
Solution search(const Separable& problem, const std::vector<std::vector<double>>& starts,
                const Effort& effort = {});

// Does the same for a single q, with starts in ascending order: improves the local minima among them.
Solution search_line(const Separable& problem, const std::vector<double>& starts);
// This is a start whose sum of squares is known.
struct Tried {
  double q, rss;
};
// only_low() returns where the sum of squares seems lowest, if only one local minimum is worth examining.
std::optional<double> only_low(std::span<const Tried> tried);
Solution best_of_line(const Separable& problem, std::span<const Tried> tried);

// Returns `count` values from low to high, evenly spaced.
std::vector<double> grid(double low, double high, int count);

// Replaces each value by its exponential, up to a relative error of 1e-14 (exp_in_place.cpp). Searches for
// starts spend most of their time here. The compiler turns this loop into vector instructions, which it
// cannot do with std::exp. Values are limited to [-340, 709]; NaN counts as 709. So no result overflows, and
// the square of none underflows, which would be slow.
void exp_in_place(std::span<double> values);

}  // namespace nlsq::inline v0::guessing
