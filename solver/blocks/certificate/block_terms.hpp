// Magnitudes of the terms that make up residuals and gradients of a block problem. Rounding errors are
// proportional to them: a residual of 1 that is the difference of two map coordinates of 1e6 has the rounding
// error of 1e6. The certificate uses them.
#pragma once

#include "blocks/block_model.hpp"
#include "blocks/schur/schur.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// This is a point where J is available in f64: its records are complete, and the solver has gathered them.
struct BlockPoint {
  BlockModel& model;
  const BlockStructure& structure;
  const Problem::Impl& problem;
  SchurSolver& solver;
  std::span<const double> x;
  double cost;
  std::span<const std::uint8_t> fixed;  // by tangent index; may be empty
  std::size_t fixed_count;

  std::size_t free() const { return structure.tangent_size() - fixed_count; }
  bool is_fixed(std::size_t j) const { return fixed_count > 0 && fixed[j] != 0; }
  std::vector<std::size_t> free_columns() const;  // tangent coordinates that are not fixed
};

// A residual counts as a rounding error if it is at most this many roundings of its terms. A bound of the
// rounding error is converted to terms for which the limit equals the bound.
inline constexpr double kRoundings = 4;

struct BlockTerms {
  double magnitude = 0;  // ‖terms of r‖ to first order: Σ |J_ij| |x_j| by row, at least |r_i|, and at least
                         // as large as the bounds of rounding errors say
  double furthest = 0;  // the largest |r_i| beside the terms of its row, or the median of all if larger. If
                        // ‖r‖ is zero up to rounding errors, also beside those of the rows it shares
                        // parameters with
  double rounding = 0;  // ‖rounding error of r‖
  double vanishing = 0;  // the part of ‖r‖² of rows whose residuals are rounding errors of their own terms
  double spread = 1;     // the norm of the largest row of J over the median one
  double widest_spread = 1;  // over one of the lightest rows, for problems where most rows are heavy
  double cost_noise = 0;     // rounding error of a difference of costs
  std::vector<double> gradient_noise;  // of each g_j, by tangent index
  bool bounded = false;                // bounds of rounding errors were given
};

// Returns the size of the numbers that each tangent coordinate moves: |x_j|, or on a manifold the length of
// the numbers that move along it.
std::vector<double> tangent_sizes(const Problem::Impl& problem, const BlockStructure& structure,
                                  std::span<const double> x);

// Returns true if the terms of most rows cancel at x, so that rounding errors of terms are larger than the
// last digits of the data. |Jx| of a row stands for its data, as in certificate/hidden_minimum.hpp: a row's
// terms are smaller than 8 times this sum if residuals of rounding size (kRoundings) are to be the last
// digits of its data.
bool terms_cancel(const BlockPoint& at);

// Measures the terms. `bounds` are those of the rounding errors of r; empty if they are not known.
// First-order terms do not contain numbers inside the functions, such as p and q in p + w × p - q, whose
// rounding errors are far larger if w is small.
BlockTerms measure_terms(const BlockPoint& at, std::span<const double> bounds = {});

}  // namespace nlsq::inline v0
