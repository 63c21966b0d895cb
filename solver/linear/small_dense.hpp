// Dense algebra of a few columns in memory that the caller provides; LinearSolver and the certificate use it.
// For such sizes, the calls into Eigen's run-time matrices take longer than the operations. Matrices are n x
// n and column-major; triangles are lower triangles.
#pragma once

#include "linear/dot.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>

namespace nlsq::inline v0::small_dense {

inline constexpr std::size_t kMost = 32;  // up to this many columns this code is faster

// The largest column count that an N may stand for.
template <class N>
inline constexpr std::size_t most_of = kMost;
template <std::size_t n>
inline constexpr std::size_t most_of<std::integral_constant<std::size_t, n>> = n;

// Calls f(n) with n as a compile-time constant where it is small, so that loops are unrolled. N below is such
// a constant or std::size_t.
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
    case 7: return f(integral_constant<std::size_t, 7>{});
    case 8: return f(integral_constant<std::size_t, 8>{});
    default: return f(n);
  }
}

// Calls f(i) for i = first ... last - 1. With constants the loop is written out: compilers vectorize short
// triangular loops poorly.
template <class First, class Last, class F>
inline void each(First first, Last last, F f) {
  if constexpr (std::is_class_v<First> && std::is_class_v<Last>) {
    if constexpr (First::value < Last::value) {
      f(first);
      each(std::integral_constant<std::size_t, First::value + 1>{}, last, f);
    }
  } else {
    for (std::size_t i = first; i < last; ++i) f(i);
  }
}
inline constexpr std::integral_constant<std::size_t, 0> kFirst{};
template <std::size_t i>
inline constexpr std::integral_constant<std::size_t, i + 1> next(std::integral_constant<std::size_t, i>) {
  return {};
}
inline std::size_t next(std::size_t i) { return i + 1; }

// Overwrites the lower triangle of A = LLᵀ with L, and sets `inverse` to 1 / L_jj. Returns false if A is not
// numerically positive definite.
template <class N>
inline bool cholesky(double* A, N n, double* inverse) {
  bool positive = true;
  each(kFirst, n, [&](auto j) {
    double* column = A + j * n;
    positive = positive && column[j] > 0;
    column[j] = std::sqrt(column[j]);
    inverse[j] = 1 / column[j];
    each(next(j), n, [&](auto i) { column[i] *= inverse[j]; });
    each(next(j), n, [&](auto k) {
      double* later = A + k * n;
      each(k, n, [&](auto i) { later[i] -= column[k] * column[i]; });
    });
  });
  return positive;
}

// Computes v := L⁻¹v. `inverse` comes from cholesky.
template <class N>
inline void solve_lower(const double* L, N n, const double* inverse, double* v) {
  each(kFirst, n, [&](auto j) {
    const double* column = L + j * n;
    v[j] *= inverse[j];
    each(next(j), n, [&](auto i) { v[i] -= column[i] * v[j]; });
  });
}

// Computes v := L⁻ᵀv.
template <class N>
inline void solve_lower_transposed(const double* L, N n, const double* inverse, double* v) {
  each(kFirst, n, [&](auto reversed) {
    const std::size_t j = n - 1 - reversed;
    const double* column = L + j * n;
    double sum = v[j];
    for (std::size_t i = j + 1; i < n; ++i) sum -= column[i] * v[i];
    v[j] = sum * inverse[j];
  });
}

// Computes the lower triangle W := L⁻¹. The strictly upper part is not written.
template <class N>
inline void invert_lower(const double* L, N n, const double* inverse, double* W) {
  each(kFirst, n, [&](auto j) {
    double* column = W + j * n;
    column[j] = inverse[j];
    each(next(j), n, [&](auto i) { column[i] = -L[j * n + i] * inverse[j]; });
    each(next(j), n, [&](auto k) {
      column[k] *= inverse[k];
      each(next(k), n, [&](auto i) { column[i] -= L[k * n + i] * column[k]; });
    });
  });
}

// Returns ‖A‖₁ of a symmetric matrix stored in full.
template <class N>
inline double one_norm(const double* A, N n) {
  double largest = 0;
  each(kFirst, n, [&](auto j) {
    double sum = 0;
    each(kFirst, n, [&](auto i) { sum += std::fabs(A[j * n + i]); });
    largest = std::max(largest, sum);
  });
  return largest;
}

// Returns ‖A⁻¹‖₁ of A = LLᵀ, exactly. `W` is scratch memory, n x n.
template <class N>
inline double inverse_one_norm(const double* L, N n, const double* inverse, double* W) {
  invert_lower(L, n, inverse, W);
  double sums[most_of<N>] = {};
  each(kFirst, n, [&](auto j) {
    each(kFirst, next(j), [&](auto i) {
      double entry = 0;
      each(j, n, [&](auto k) { entry += W[i * n + k] * W[j * n + k]; });
      sums[j] += std::fabs(entry);
      if (i != j) sums[i] += std::fabs(entry);
    });
  });
  double largest = 0;
  for (std::size_t j = 0; j < n; ++j) largest = sums[j] > largest || sums[j] != sums[j] ? sums[j] : largest;
  return largest;
}

inline double norm(const double* v, std::size_t n) {
  return norm_of(n, [v](std::size_t i) { return v[i]; });
}

}  // namespace nlsq::inline v0::small_dense
