// Dense algebra of a few columns, in memory that is given: what Eigen does with matrices of run-time size costs
// more in calls than in operations for them. Column-major, n x n; lower triangles.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace nlsq::inline v0::small_dense {

inline constexpr std::size_t kMost = 32;  // columns for which this is the faster way

// A = LLᵀ in place of the lower triangle. False: not numerically positive definite.
inline bool cholesky(double* A, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) {
    double* column = A + j * n;
    if (!(column[j] > 0)) return false;
    column[j] = std::sqrt(column[j]);
    for (std::size_t i = j + 1; i < n; ++i) column[i] /= column[j];
    for (std::size_t k = j + 1; k < n; ++k) {
      double* later = A + k * n;
      for (std::size_t i = k; i < n; ++i) later[i] -= column[k] * column[i];
    }
  }
  return true;
}

// v := L⁻¹v; v is zero before `first`.
inline void solve_lower(const double* L, std::size_t n, double* v, std::size_t first = 0) {
  for (std::size_t j = first; j < n; ++j) {
    const double* column = L + j * n;
    v[j] /= column[j];
    for (std::size_t i = j + 1; i < n; ++i) v[i] -= column[i] * v[j];
  }
}

// v := L⁻ᵀv.
inline void solve_lower_transposed(const double* L, std::size_t n, double* v) {
  for (std::size_t j = n; j-- > 0;) {
    const double* column = L + j * n;
    double sum = v[j];
    for (std::size_t i = j + 1; i < n; ++i) sum -= column[i] * v[i];
    v[j] = sum / column[j];
  }
}

// W := L⁻¹, lower; its strictly upper part is not written.
inline void invert_lower(const double* L, std::size_t n, double* W) {
  for (std::size_t j = 0; j < n; ++j) {
    double* column = W + j * n;
    std::fill(column + j, column + n, 0.0);
    column[j] = 1;
    solve_lower(L, n, column, j);
  }
}

// ‖A‖₁ of a symmetric matrix, both triangles given.
inline double one_norm(const double* A, std::size_t n) {
  double largest = 0;
  for (std::size_t j = 0; j < n; ++j) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += std::fabs(A[j * n + i]);
    largest = std::max(largest, sum);
  }
  return largest;
}

// ‖A⁻¹‖₁ of A = LLᵀ, exactly. `W`: scratch, n x n.
inline double inverse_one_norm(const double* L, std::size_t n, double* W) {
  invert_lower(L, n, W);
  double sums[kMost] = {};
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i <= j; ++i) {
      double entry = 0;
      for (std::size_t k = j; k < n; ++k) entry += W[i * n + k] * W[j * n + k];
      sums[j] += std::fabs(entry);
      if (i != j) sums[i] += std::fabs(entry);
    }
  }
  double largest = 0;
  for (std::size_t j = 0; j < n; ++j) largest = sums[j] > largest || sums[j] != sums[j] ? sums[j] : largest;
  return largest;
}

inline double norm(const double* v, std::size_t n) {
  double squares = 0;
  for (std::size_t i = 0; i < n; ++i) squares += v[i] * v[i];
  return std::sqrt(squares);
}

}  // namespace nlsq::inline v0::small_dense
