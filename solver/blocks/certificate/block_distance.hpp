// Computes the distance from a point to the optimum of its linear model, without damping: rank, step and
// decrement. It uses only J in f64 at x, no other points. The certificate uses it.
#pragma once

#include "blocks/certificate/block_terms.hpp"

#include <span>
#include <vector>

namespace nlsq::inline v0 {

struct BlockDistance {
  bool known = false;    // false: the other members are not valid
  bool reached = true;   // false: conjugate gradients stopped before their tolerance
  double decrement = 0;  // ν₀ = √(2 · decrease predicted by the linear model)
  std::vector<double> step;
  std::vector<int>
      undetermined;  // tangent numbers involved in directions that the data do not determine; by QR alone
  int rank = -1;     // -1: not examined
  bool rank_estimated = false;
  bool rank_hidden = false;  // rows of huge weight make the rank look too low; by QR alone
  double condition = 0;      // NaN: not examined
  double error = 0;          // relative rounding error of the step; from QR only
  bool qr = false;
  double damping = 0;  // of the elimination, relative to the squared column norms
  int linear_iterations = 0;
};

// Damping relative to the squared column norms that changes neither the step nor the rank.
constexpr double kNegligibleDamping = 1e-13;

// Returns the column norms at x, and 1 for a column that is zero.
std::vector<double> column_norms(const SchurSolver& solver);

// Returns JᵀJ over the given columns, n x n, with columns of J scaled to unit length.
std::vector<double> scaled_normal(const BlockPoint& at, std::span<const std::size_t> columns);

// Uses the factors of the elimination, with the least damping with which they exist; the rank is then not
// known. If J is small, and has heavy rows or no factor, uses QR of J, which shows the rank. `solved` may be
// the solver's last solve, if that was at this point and with negligible damping; else it is null.
BlockDistance block_distance(const BlockPoint& at, const BlockTerms& terms,
                             const BlockStep* solved = nullptr);

// Adds what the elimination does not show: the directions that its damping suppressed, and the rank. Must be
// called after block_distance. A direction along which the gradient exceeds rounding error counts with its
// full predicted decrease. Returns false if there was nothing to add.
bool examine_weak_directions(const BlockPoint& at, const BlockTerms& terms, BlockDistance& out);

// Returns true if J is small enough for solve_by_rows() at every step.
bool rows_are_few(const BlockPoint& at);
// Returns true if J is so small that nothing takes less time than solve_by_rows().
bool qr_takes_least(const BlockPoint& at);
// Solves (JᵀJ + λD²) s = -Jᵀr from the rows. J must be available in f64.
void solve_by_rows(const BlockPoint& at, double lambda, std::span<const double> scale, BlockStep& out);

}  // namespace nlsq::inline v0
