// Implements undetermined_in_all() by Cholesky factors with pivoting.
#include "batch/joint_directions.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kMost = 500;  // parameters
// A parameter shares in a direction if it has more than this part of the largest one, with columns of J of
// unit length. Normal matrices know no less than the root of rounding.
constexpr double kPart = 1e-3;

// JᵀJ of all groups, with columns of J scaled to unit length.
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

void exchange(Matrix& A, std::size_t i, std::size_t j) {
  if (i == j) return;
  for (std::size_t k = 0; k < A.rows(); ++k) std::swap(A(i, k), A(j, k));
  for (std::size_t k = 0; k < A.rows(); ++k) std::swap(A(k, i), A(k, j));
}

}  // namespace

std::vector<bool> undetermined_in_all(std::span<const Matrix> normals, std::size_t shared, std::size_t rank) {
  std::size_t n = shared;
  for (const Matrix& normal : normals) n += normal.rows() - shared;
  if (n > kMost) return {};
  rank = std::min(rank, n);
  Matrix A = joined(normals, shared, n);
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  // After `rank` steps of symmetric elimination, row k of A has row k of the factor behind its pivot.
  for (std::size_t k = 0; k < rank; ++k) {
    std::size_t largest = k;
    for (std::size_t j = k + 1; j < n; ++j)
      if (A(j, j) > A(largest, largest)) largest = j;
    exchange(A, k, largest);
    std::swap(order[k], order[largest]);
    if (!(A(k, k) > 0)) return {};
    for (std::size_t i = k + 1; i < n; ++i)
      for (std::size_t j = k + 1; j < n; ++j) A(i, j) -= A(i, k) * A(k, j) / A(k, k);
  }
  // Each column that is left depends on the pivots' columns; by how much solves a triangular system.
  std::vector<bool> out(n, false);
  std::vector<double> direction(rank);
  for (std::size_t c = rank; c < n; ++c) {
    double largest = 1;
    for (std::size_t k = rank; k-- > 0;) {
      direction[k] = A(k, c);
      for (std::size_t j = k + 1; j < rank; ++j) direction[k] -= A(k, j) * direction[j];
      direction[k] /= A(k, k);
      largest = std::max(largest, std::fabs(direction[k]));
    }
    out[order[c]] = true;
    for (std::size_t k = 0; k < rank; ++k)
      if (std::fabs(direction[k]) > kPart * largest) out[order[k]] = true;
  }
  return out;
}

}  // namespace nlsq::inline v0
