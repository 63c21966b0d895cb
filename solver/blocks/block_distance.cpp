// Computes rank, undamped step and decrement at a point of a block problem. The certificate uses it.
#include "blocks/block_distance.hpp"

#include "dense/dense_algebra.hpp"
#include "linear/determined_subspace.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

namespace {

constexpr double kLeastDamping = 1e-15, kMostDamping = 1e-6;
constexpr int kRefinements = 3;
constexpr double kEnough = 1e-8;  // gain of a refinement, relative to the predicted decrease so far
// Limits on unknowns and multiply-adds for which QR costs next to nothing.
constexpr std::size_t kFewColumns = 64;
constexpr double kFewProducts = 4e6;
constexpr std::size_t kDoubtColumns = 400;  // the same limits where the factorisation fails
constexpr double kDoubtProducts = 2e9;

double dot_of(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Tangent coordinates that are not fixed.
std::vector<std::size_t> free_columns(const BlockPoint& at) {
  std::vector<std::size_t> free;
  for (std::size_t j = 0; j < at.structure.tangent_size(); ++j) {
    if (!at.is_fixed(j)) free.push_back(j);
  }
  return free;
}

bool is_small(const BlockPoint& at, std::size_t columns, double products) {
  const double n = static_cast<double>(at.free()), m = static_cast<double>(at.structure.residuals);
  return !at.solver.iterative() && at.free() <= columns && 2 * m * n * n <= products;
}

// The columns of J that are free, one after the other, and r. Rows of zeros fill J up to a square matrix.
struct DenseRows {
  std::size_t rows, columns;
  std::vector<double> J, r;
  bool finite = true;
};

DenseRows dense_rows(const BlockPoint& at, std::span<const std::size_t> free) {
  const std::size_t n = free.size();
  DenseRows out{std::max(at.structure.residuals, n), n, {}, {}};
  out.J.assign(out.rows * n, 0.0);
  out.r.assign(out.rows, 0.0);
  std::size_t i = 0;
  at.solver.row_by_row(at.model.records<double>(), [&](std::span<const double> row, double residual) {
    for (std::size_t j = 0; j < n; ++j) {
      out.J[j * out.rows + i] = row[free[j]];
      out.finite = out.finite && std::isfinite(row[free[j]]);
    }
    out.finite = out.finite && std::isfinite(residual);
    out.r[i++] = residual;
  });
  return out;
}

// QR of J D⁻¹ with r appended, then the singular values of R. Destroys `A`.
Certified analyse_rows(DenseRows& A, std::span<const double> scale) {
  const std::size_t n = A.columns;
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < A.rows; ++i) A.J[j * A.rows + i] /= scale[j];
  }
  dense::householder_qr(A.J.data(), A.rows, n, A.r.data());
  std::vector<double> R(n * n, 0.0), z(A.r.begin(), A.r.begin() + static_cast<std::ptrdiff_t>(n));
  for (std::size_t j = 0; j < n; ++j) std::copy_n(&A.J[j * A.rows], j + 1, &R[j * n]);
  Certified found;
  found.step.assign(n, 0.0);
  analyse({R.data(), z.data(), scale, true}, found);
  return found;
}

// The rank of J after all rows are scaled down to the median of their norms. Without rounding errors, this
// does not change the rank. With them, a row of weight 1e15 hides the directions that only other rows
// determine.
int rank_of_lightened(DenseRows A) {
  std::vector<double> norms(A.rows), scale(A.columns);
  for (std::size_t i = 0; i < A.rows; ++i) {
    double squares = 0;
    for (std::size_t j = 0; j < A.columns; ++j) squares += A.J[j * A.rows + i] * A.J[j * A.rows + i];
    norms[i] = std::sqrt(squares);
  }
  std::vector<double> sorted = norms;
  std::erase(sorted, 0.0);
  if (sorted.empty()) return 0;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  const double median = *middle;
  for (std::size_t j = 0; j < A.columns; ++j) {
    double squares = 0;
    for (std::size_t i = 0; i < A.rows; ++i) {
      double& entry = A.J[j * A.rows + i];
      if (norms[i] > median) entry *= median / norms[i];
      squares += entry * entry;
    }
    scale[j] = squares > 0 ? std::sqrt(squares) : 1;
  }
  return analyse_rows(A, scale).certificate.rank;
}

// Measures the distance by QR of J. Where J is small, this costs next to nothing.
BlockDistance by_triangle(const BlockPoint& at, std::span<const double> norms) {
  BlockDistance out;
  const std::vector<std::size_t> free = free_columns(at);
  const std::size_t n = free.size();
  out.step.assign(at.structure.tangent_size(), 0.0);
  out.known = out.qr = true;
  if (n == 0) {
    out.rank = 0;
    out.condition = 1;
    return out;
  }
  std::vector<double> scale(n);
  for (std::size_t j = 0; j < n; ++j) scale[j] = norms[free[j]];
  DenseRows A = dense_rows(at, free);
  if (!A.finite) return {};
  const Certified found = analyse_rows(A, scale);
  for (std::size_t j = 0; j < n; ++j) out.step[free[j]] = found.step[j];
  for (const int j : found.certificate.confounded) {
    out.undetermined.push_back(static_cast<int>(free[static_cast<std::size_t>(j)]));
  }
  out.rank = found.certificate.rank;
  out.condition = found.certificate.condition;
  out.error = found.certificate.covariance_error;
  out.decrement = found.certificate.decrement_sigma;
  if (out.rank < static_cast<int>(n)) out.rank_hidden = rank_of_lightened(dense_rows(at, free)) > out.rank;
  return out;
}

// Takes further steps from the end of the damped step. A direction that damping suppressed contributes the
// decrease that the gradient along it predicts. If the gradient along it is only rounding error, the data do
// not determine the direction.
void refine(const BlockPoint& at, const BlockTerms& terms, BlockDistance& out) {
  RecordReader<double>& J = at.model.records<double>();
  const std::vector<double>& gradient = at.solver.gradient();
  std::vector<double> left(gradient.size()), delta;
  for (int round = 0; round < kRefinements; ++round) {
    at.solver.multiply(J, out.step, left);
    for (std::size_t j = 0; j < left.size(); ++j) left[j] = at.is_fixed(j) ? 0 : left[j] + gradient[j];
    delta.assign(left.begin(), left.end());
    at.solver.solve_factored(J, delta);
    double noise = 0;
    for (std::size_t j = 0; j < delta.size(); ++j) {
      delta[j] = at.is_fixed(j) ? 0 : -delta[j];
      noise += terms.gradient_noise[j] * std::fabs(delta[j]);
    }
    const double slope = -dot_of(left, delta);
    std::vector<double>& image = left;  // what is left is no longer needed
    at.solver.multiply(J, delta, image);
    const double curvature = dot_of(delta, image);
    if (!(slope > noise) || !(curvature > 0)) return;
    const double gain = slope * slope / curvature;  // twice the predicted decrease
    const double squares = out.decrement * out.decrement;
    for (std::size_t j = 0; j < delta.size(); ++j) out.step[j] += slope / curvature * delta[j];
    out.decrement = std::sqrt(squares + gain);
    if (!(gain > kEnough * squares)) return;
  }
}

BlockDistance by_elimination(const BlockPoint& at, std::span<const double> norms, const BlockStep* solved) {
  BlockDistance out;
  BlockStep step;
  RecordReader<double>& J = at.model.records<double>();
  if (solved) step = *solved;
  for (double lambda = kLeastDamping; lambda <= kMostDamping && !step.factored; lambda *= 10) {
    at.solver.solve<double, double>(J, lambda, norms, step);
    out.linear_iterations += step.iterations;
    out.damping = lambda;
  }
  if (!step.factored) return out;
  out.known = true;
  out.reached = step.reached;
  out.decrement = std::sqrt(std::max(2 * step.predicted, 0.0));
  out.step = std::move(step.step);
  out.condition = std::numeric_limits<double>::quiet_NaN();
  if (at.solver.iterative()) out.decrement = step.decrement;
  return out;
}

}  // namespace

std::vector<double> column_norms(const SchurSolver& solver) {
  std::vector<double> norms;
  norms.reserve(solver.squares().size());
  for (const double square : solver.squares()) norms.push_back(square > 0 ? std::sqrt(square) : 1);
  return norms;
}

BlockDistance block_distance(const BlockPoint& at, const BlockStep* solved) {
  const std::vector<double> norms = column_norms(at.solver);
  if (is_small(at, kFewColumns, kFewProducts)) return by_triangle(at, norms);
  BlockDistance out = by_elimination(at, norms, solved);
  if (!out.known && is_small(at, kDoubtColumns, kDoubtProducts)) return by_triangle(at, norms);
  return out;
}

bool examine_weak_directions(const BlockPoint& at, const BlockTerms& terms, BlockDistance& out) {
  if (!out.known || out.qr || at.solver.iterative()) return false;
  refine(at, terms, out);
  const RankEstimate rank =
      at.solver.rank(at.model.records<double>(), column_norms(at.solver), out.damping <= kNegligibleDamping);
  out.rank = rank.rank;  // fixed columns are zero and do not count
  out.rank_estimated = rank.estimated;
  return true;
}

}  // namespace nlsq::inline v0
