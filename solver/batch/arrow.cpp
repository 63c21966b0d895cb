// Implements Arrow by Cholesky of blocks whose columns are scaled to unit length, and undetermined_in_all()
// by eigenvectors of the normal matrix.
#include "batch/arrow.hpp"

#include "dense/dense_algebra.hpp"
#include "linear/small_dense.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

// Computes the inverse of a symmetric positive definite matrix, and its least pivot once each row and column
// is divided by the square root of `size`. Returns false if it is not numerically positive definite.
bool invert(const Matrix& A, const std::vector<double>& size, Matrix& inverse, double& least) {
  const std::size_t n = A.rows();
  std::vector<double> scale(n), L(n * n), pivots(n), v(n);
  for (std::size_t j = 0; j < n; ++j) {
    if (!(A(j, j) > 0)) return false;
    scale[j] = 1 / std::sqrt(size[j]);
  }
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < n; ++i) L[j * n + i] = A(i, j) * scale[i] * scale[j];
  if (!small_dense::cholesky(L.data(), n, pivots.data())) return false;
  least = 1;
  for (const double inverse_root : pivots) least = std::min(least, 1 / (inverse_root * inverse_root));
  inverse.assign(n, n);
  for (std::size_t j = 0; j < n; ++j) {
    v.assign(n, 0);
    v[j] = 1;
    small_dense::solve_lower(L.data(), n, pivots.data(), v.data());
    small_dense::solve_lower_transposed(L.data(), n, pivots.data(), v.data());
    for (std::size_t i = 0; i < n; ++i) inverse(i, j) = v[i] * scale[i] * scale[j];
  }
  return true;
}

}  // namespace

bool Arrow::add(std::size_t k, const Matrix& normal) {
  const std::size_t own = normal.rows() - shared_;
  Matrix D(own, own), inverse;
  for (std::size_t i = 0; i < own; ++i)
    for (std::size_t j = 0; j < own; ++j) D(i, j) = normal(shared_ + i, shared_ + j);
  std::vector<double> size(own);
  for (std::size_t j = 0; j < own; ++j) size[j] = D(j, j);
  double least = 1;
  if (!invert(D, size, inverse, least)) return false;
  least_own_ = std::min(least_own_, least);
  for (std::size_t s = 0; s < shared_; ++s) size_[s] += normal(s, s);
  Group& group = of_group_[k];
  group.slopes.assign(own, shared_);
  for (std::size_t i = 0; i < own; ++i) {
    group.variance.push_back(inverse(i, i));
    for (std::size_t s = 0; s < shared_; ++s)
      for (std::size_t j = 0; j < own; ++j) group.slopes(i, s) += inverse(i, j) * normal(shared_ + j, s);
  }
  for (std::size_t s = 0; s < shared_; ++s) {
    for (std::size_t t = 0; t < shared_; ++t) {
      double reduced = normal(s, t);
      for (std::size_t j = 0; j < own; ++j) reduced -= normal(shared_ + j, s) * group.slopes(j, t);
      sum_(s, t) += reduced;
    }
  }
  return true;
}

// Eliminating the groups' own parameters causes a rounding error. Relative to the squared norms of the shared
// parameters' columns, it is a few units of rounding divided by the least pivot of the groups' blocks. The
// pivots of the matrix that remains must be far larger than this error.
bool Arrow::finish() {
  constexpr double kLeast = 1e-10;  // then variances have five digits or more
  double least = 1;
  return invert(sum_, size_, covariance_, least) && least * least_own_ >= kLeast;
}

double Arrow::own_variance(std::size_t k, std::size_t j) const {
  const Group& group = of_group_[k];
  double variance = group.variance[j];
  for (std::size_t s = 0; s < shared_; ++s)
    for (std::size_t t = 0; t < shared_; ++t)
      variance += group.slopes(j, s) * covariance_(s, t) * group.slopes(j, t);
  return variance;
}

namespace {

constexpr std::size_t kMost = 500;  // parameters
// A parameter takes part in a direction of unit length if its component exceeds this, divided by √n. Normal
// matrices know components to about 1e-8.
constexpr double kPart = 1e-3;

// Returns JᵀJ of all groups, with columns of J scaled to unit length.
Matrix joined(std::span<const Matrix> normals, std::size_t shared, std::size_t n) {
  Matrix out(n, n);
  std::size_t first = shared;
  for (const Matrix& normal : normals) {
    const auto place = [&](std::size_t j) { return j < shared ? j : first + j - shared; };
    for (std::size_t i = 0; i < normal.rows(); ++i)
      for (std::size_t j = 0; j < normal.rows(); ++j) out(place(i), place(j)) += normal(i, j);
    first += normal.rows() - shared;
  }
  std::vector<double> scale(n);
  for (std::size_t j = 0; j < n; ++j) scale[j] = out(j, j) > 0 ? 1 / std::sqrt(out(j, j)) : 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) out(i, j) *= scale[i] * scale[j];
  return out;
}

}  // namespace

std::vector<bool> undetermined_in_all(std::span<const Matrix> normals, std::size_t shared, std::size_t rank) {
  std::size_t n = shared;
  for (const Matrix& normal : normals) n += normal.rows() - shared;
  if (n > kMost) return {};
  Matrix directions = joined(normals, shared, n);  // then its eigenvectors, least eigenvalue first
  std::vector<double> values(n);
  if (!dense::symmetric_eigen(directions.data(), n, values.data())) return {};
  std::vector<bool> out(n, false);
  const double least = kPart / std::sqrt(static_cast<double>(n));
  for (std::size_t k = 0; k + rank < n; ++k)
    for (std::size_t j = 0; j < n; ++j)
      if (std::fabs(directions.data()[k * n + j]) > least) out[j] = true;
  return out;
}

}  // namespace nlsq::inline v0
