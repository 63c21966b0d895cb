// Fits from sums over rows that may lie anywhere: in blocks of an array, or on several machines. One half,
// add_up, makes the sums of a block of rows at a point. The other, solve_sums, takes the sums of all blocks
// at the points that it has requested so far, and returns the next point or the result.
//
// The sums are float64 numbers that are added entry by entry. So the sums of two blocks together are the sum
// of their vectors.
#pragma once

#include "dense/dense_evaluator.hpp"

#include <nlsq/least_squares.hpp>

#include <optional>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// Numbers the places in the vector of sums. It has numbers at the front, then the gradient (n), the sums of
// terms of each column (n), the squared errors of each column of J if differences have more than the usual
// errors (n), and the upper triangle of JᵀJ by rows.
enum class SumAt : std::size_t {
  rows,
  cost,            // ½ Σr²
  magnitude,       // Σ size², where the size of a row is that of the terms that its residual is the sum of
  cost_magnitude,  // Σ |r| size
  discrepancy,     // Σ of the squares by which the program and the model in double differ
  disagreeing,     // number of blocks where some row differs by more than rounding
  underflowing,    // number of blocks where squares of numbers that are not 0 underflow
  derivative_error,  // relative error of J beyond rounding, times the number of rows
  data,              // Σ (y/σ)²
  plain_cost,        // ½ Σ (rσ)²: the cost without weights
  plain_data,        // Σ y²
  variances,         // Σ σ²
  weights,           // Σ 1/σ²
  head,              // the number of entries above
};
std::size_t sums_size(std::size_t parameters);

// Fills `out` with the sums of the evaluator's rows at p. `y` and `sigma` are of the same rows; sigma is
// empty for rows without weights. `plain` evaluates the rows without weights. Entries are NaN if a residual
// or derivative is not finite.
void add_up(DenseEvaluator& evaluator, DenseEvaluator& plain, const Column& y, const Column& sigma,
            std::span<const double> p, std::span<double> out);

// The sums of one pass over all rows.
struct SumsPass {
  std::span<const double> point, sums;
};

struct SumsStep {
  std::vector<double> next;                // where the sums are needed next; empty at the end
  std::optional<LeastSquaresResult> done;  // the result
  std::size_t rows = 0;
};

// `passes` holds the start and every point requested since, with the sums there. Throws ValidationError for
// points that were not requested, and DataError for sums that contradict each other.
SumsStep solve_sums(std::span<const SumsPass> passes, const SolverOptions& options, const Bounds& bounds,
                    bool unit_sigma);

}  // namespace nlsq::inline v0
