// How far a point is from the optimum of its own linear model, without any damping: rank, step and decrement
// of J in f64 as it is at x. Nothing that was remembered from other points enters.
#pragma once

#include "blocks/block_terms.hpp"
#include "blocks/schur/schur.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// A point at which J is known in f64: its records are finished, and the solver has gathered them.
struct BlockPoint {
  BlockModel& model;
  const BlockStructure& structure;
  const Problem::Impl& problem;
  SchurSolver& solver;
  std::span<const double> x, r;
  double cost;
  std::span<const std::uint8_t> fixed;  // by tangent number; empty: none
  std::size_t fixed_count;

  std::size_t free() const { return structure.tangent_size() - fixed_count; }
  bool is_fixed(std::size_t j) const { return fixed_count > 0 && fixed[j] != 0; }
};

struct BlockDistance {
  bool known = false;    // else nothing below holds
  bool reached = true;   // false: conjugate gradients ended before their goal
  double decrement = 0;  // ν₀, which is √(2 · what the linear model promises)
  std::vector<double> step;
  std::vector<int>
      undetermined;  // tangent numbers that share in directions which the data do not determine; by QR alone
  int rank = -1;     // -1: not examined
  bool rank_estimated = false;
  double condition = 0;  // NaN: not examined
  double error = 0;      // relative, of the step, by rounding; by QR alone
  bool qr = false;
  int linear_iterations = 0;
};

// Column norms at x; 1 for a column that is zero.
std::vector<double> column_norms(const SchurSolver& solver);

// By QR of J where it is small, else by the factors of the elimination with as little damping as they need.
// What that damping hides is looked for: a direction along which the gradient is more than rounding counts
// with all that it promises.
BlockDistance block_distance(const BlockPoint& at, const BlockTerms& terms);

}  // namespace nlsq::inline v0
