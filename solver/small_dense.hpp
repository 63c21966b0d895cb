// Dense algebra of a few columns, in memory that is given: what Eigen does with matrices of run-time size costs
// more in calls than in operations for them. Column-major, n x n; lower triangles.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>

namespace nlsq::inline v0::small_dense {

inline constexpr std::size_t kMost = 32;  // columns for which this is the faster way

// Most columns that an N may stand for.
template <class N>
inline constexpr std::size_t most_of = kMost;
template <std::size_t n>
inline constexpr std::size_t most_of<std::integral_constant<std::size_t, n>> = n;

// f(n), n a constant where it is small: its loops are unrolled. N below is one or the other.
template <class F>
inline auto with_constant(std::size_t n, F f) {
  using std::integral_constant;
  switch (n) {
    case 1: return f(integral_constant<std::size_t, 1>{});
    case 2: return f(integral_constant<std::size_t, 2>{});
    case 3: return f(integral_constant<std::size_t, 3>{});
    case 4: return f(integral_constant<std::size_t, 4>{});
    case 5: return f(integral_constant<std::size_t, 5>{});
    case 6: return f(integral_constant<std::size_t, 6>{});
    default: return f(n);
  }
}

// A = LLᵀ in place of the lower triangle. False: not numerically positive definite.
template <class N>
inline bool cholesky(double* A, N n) {
  for (std::size_t j = 0; j < n; ++j) {
    double* column = A + j * n;
    if (!(column[j] > 0)) return false;
    column[j] = std::sqrt(column[j]);
    const double inverse = 1 / column[j];
    for (std::size_t i = j + 1; i < n; ++i) column[i] *= inverse;
    for (std::size_t k = j + 1; k < n; ++k) {
      double* later = A + k * n;
      for (std::size_t i = k; i < n; ++i) later[i] -= column[k] * column[i];
    }
  }
  return true;
}

// v := L⁻¹v.
template <class N>
inline void solve_lower(const double* L, N n, double* v) {
  for (std::size_t j = 0; j < n; ++j) {
    const double* column = L + j * n;
    v[j] /= column[j];
    for (std::size_t i = j + 1; i < n; ++i) v[i] -= column[i] * v[j];
  }
}

// v := L⁻ᵀv.
template <class N>
inline void solve_lower_transposed(const double* L, N n, double* v) {
  for (std::size_t j = n; j-- > 0;) {
    const double* column = L + j * n;
    double sum = v[j];
    for (std::size_t i = j + 1; i < n; ++i) sum -= column[i] * v[i];
    v[j] = sum / column[j];
  }
}

// W := L⁻¹, lower; its strictly upper part is not written.
template <class N>
inline void invert_lower(const double* L, N n, double* W) {
  for (std::size_t j = 0; j < n; ++j) {
    double* column = W + j * n;
    column[j] = 1 / L[j * n + j];
    for (std::size_t i = j + 1; i < n; ++i) column[i] = 0;
  }
  for (std::size_t j = 0; j < n; ++j) {  // columns below their diagonal, by the inverses already there
    double* column = W + j * n;
    for (std::size_t k = j; k < n; ++k) {
      if (k > j) column[k] *= W[k * n + k];
      for (std::size_t i = k + 1; i < n; ++i) column[i] -= L[k * n + i] * column[k];
    }
  }
}

// ‖A‖₁ of a symmetric matrix, both triangles given.
template <class N>
inline double one_norm(const double* A, N n) {
  double largest = 0;
  for (std::size_t j = 0; j < n; ++j) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += std::fabs(A[j * n + i]);
    largest = std::max(largest, sum);
  }
  return largest;
}

// ‖A⁻¹‖₁ of A = LLᵀ, exactly. `W`: scratch, n x n.
template <class N>
inline double inverse_one_norm(const double* L, N n, double* W) {
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
