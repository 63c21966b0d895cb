// Solves small least-squares problems by QR, for rows of very different weights, such as constraints of
// weight 1e12 beside data. In the normal equations, and in plain QR, rounding errors of the heavy rows are
// larger than the light rows. With the rows sorted by size and the columns pivoted, the error of each row is
// relative to that row (Powell, Reid 1969; Cox, Higham, Stability of Householder QR factorization for
// weighted least squares problems, 1998). Block problems use it for their steps and certificates.
#pragma once

#include "minimizer/minimizer_step_values.hpp"

#include <span>
#include <vector>

namespace nlsq::inline v0 {

// Above this ratio of the largest row to the median one, normal equations may lose what light rows determine.
constexpr double kHeavyRows = 1e5;

// Most rows may be heavy; then the median row is heavy, too. So a row counts as light if at most 5 % of all
// rows are smaller.
constexpr double kLightRows = 0.05;

// Returns the quantile of the values other than 0: the share `place` of them is smaller. Returns 0 if all
// values are 0.
double quantile_of_nonzero(std::vector<double> values, double place);

// Holds the columns of J, one after the other, and r. There are at least as many rows as columns.
struct DenseRows {
  std::size_t rows, columns;
  std::vector<double> J, r;
  bool finite = true;
};

// Holds the minimum of ½‖J s + r‖² where J has full rank.
struct RegularSolution {
  std::vector<double> step;
  double decrement = 0;  // √(gᵀ(JᵀJ)⁻¹g)
};
RegularSolution solve_regular(DenseRows A);
// Returns `count` vectors R⁻¹w, where R is the triangle of J and the entries of w are random signs. The mean
// of their squares along any direction e is eᵀ(JᵀJ)⁻¹e. The columns of J have unit length; those that depend
// on the others get the entry 0. The vectors are the same in every call.
std::vector<std::vector<double>> random_solutions(DenseRows A, std::size_t count);

struct RowAnalysis {
  double spread = 1;        // the norm of the largest row over the median one
  Certified least;          // by singular values, on the subspace that the data determine
  RegularSolution regular;  // by substitution, which keeps the digits of light rows
};
// Analyses rows. `scale` holds the divisors of the columns.
RowAnalysis analyse_rows(DenseRows A, std::span<const double> scale);
// Does the same for rows made similar in weight: rows whose norm is larger than the quantile `place` of all
// norms are scaled down to it. Without rounding errors this does not change the rank.
RowAnalysis analyse_lightened(DenseRows A, double place);
// Returns the factors by which analyse_lightened() multiplies the rows.
std::vector<double> lightening_factors(const DenseRows& A, double place);
// Returns true if analyse_lightened() cannot show a higher rank than A has. Scaling rows down by a factor of
// at most s, and scaling the columns anew, changes no singular value by a factor of more than s.
// `rank_margin` is Certified::rank_margin of A.
bool lightening_keeps_rank(const DenseRows& A, double place, double rank_margin);

}  // namespace nlsq::inline v0
