// How large the terms are that residuals and gradients of a block problem are made of: their rounding errors
// scale with them. A residual of 1 that is the difference of two map coordinates of 1e6 has rounding errors
// of the latter.
#pragma once

#include "blocks/block_model.hpp"

#include <span>
#include <vector>

namespace nlsq::inline v0 {

struct BlockTerms {
  double magnitude = 0;   // ‖terms of r‖, first-order: Σ |J_ij| |x_j| by row, at least |r_i|
  double cost_noise = 0;  // rounding error of a difference of costs
  std::vector<double> gradient_noise;  // of each g_j, by tangent number
  std::vector<double> largest;         // |J_ij| by column
};

// The size of what each tangent number moves: |x_j|; on a manifold the length of its block.
std::vector<double> tangent_sizes(const Problem::Impl& problem, const BlockStructure& structure,
                                  std::span<const double> x);

// From finished records of J in f64 at x.
BlockTerms measure_terms(const BlockStructure& structure, const Problem::Impl& problem, const double* J,
                         std::span<const double> x, double cost);

}  // namespace nlsq::inline v0
