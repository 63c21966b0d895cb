// Factors a dense matrix by Cholesky's method. The factor is a lower triangle by columns and is computed
// left-looking: eight columns at a time receive the products of all columns before them, in registers, and
// are then factored (Golub and Van Loan, Matrix Computations, 4.2). Block problems factor the reduced system
// with it.
#pragma once

#include "kernels/simd.hpp"

#include <cstddef>

namespace nlsq::inline v0 {
namespace {

constexpr std::size_t kPanel = 8;

// Computes C -= L[row.., 0..depth) L[col.., 0..depth)ᵀ for `vectors` vectors of rows. C is rows x kPanel, at
// A + row + col*ld.
template <int vectors>
NLSQ_INLINE void update_strip(double* A, std::size_t ld, std::size_t row, std::size_t col,
                              std::size_t depth) {
  using S = Simd<double>;
  typename S::V sum[vectors][kPanel];
  for (int v = 0; v < vectors; ++v) {
    for (std::size_t j = 0; j < kPanel; ++j)
      sum[v][j] = S::load(A + (col + j) * ld + row + static_cast<std::size_t>(v) * S::lanes);
  }
  const double* left = A + row;
  const double* top = A + col;
  for (std::size_t k = 0; k < depth; ++k, left += ld, top += ld) {
    typename S::V x[vectors];
    for (int v = 0; v < vectors; ++v) x[v] = S::load(left + static_cast<std::size_t>(v) * S::lanes);
    for (std::size_t j = 0; j < kPanel; ++j) {
      const auto y = S::set(top[j]);
      for (int v = 0; v < vectors; ++v) sum[v][j] = S::neg_mul_add(x[v], y, sum[v][j]);
    }
  }
  for (int v = 0; v < vectors; ++v) {
    for (std::size_t j = 0; j < kPanel; ++j)
      S::store(sum[v][j], A + (col + j) * ld + row + static_cast<std::size_t>(v) * S::lanes);
  }
}

// Subtracts the products of columns [from, to) from column j.
NLSQ_INLINE void update_column(double* A, std::size_t n, std::size_t ld, std::size_t from, std::size_t to,
                               std::size_t j) {
  using S = Simd<double>;
  double* column = A + j * ld;
  for (std::size_t k = from; k < to; ++k) {
    const double* other = A + k * ld;
    const auto factor = S::set(other[j]);
    for (std::size_t i = j / S::lanes * S::lanes; i < n; i += S::lanes)
      S::store(S::neg_mul_add(factor, S::load(other + i), S::load(column + i)), column + i);
  }
}

// Subtracts the products of columns [from, col) from columns [col, col + width), and factors these. This is
// used for the last, narrow panel, and within a panel.
inline bool factor_columns(double* A, std::size_t n, std::size_t ld, std::size_t from, std::size_t col,
                           std::size_t width) {
  using S = Simd<double>;
  for (std::size_t j = col; j < col + width; ++j) {
    update_column(A, n, ld, from, j, j);
    double* column = A + j * ld;
    const double pivot = column[j];
    if (!(pivot > 0)) return false;
    const double root = __builtin_sqrt(pivot);
    const auto inverse = S::set(1 / root);
    for (std::size_t i = j / S::lanes * S::lanes; i < n; i += S::lanes)
      S::store(S::mul(inverse, S::load(column + i)), column + i);
    column[j] = root;
  }
  return true;
}

NLSQ_INLINE void update_panel(double* A, std::size_t n, std::size_t ld, std::size_t col, std::size_t depth) {
  using S = Simd<double>;
  constexpr int most = 3;
  std::size_t row = col / S::lanes * S::lanes;
  for (; row + most * S::lanes <= n; row += most * S::lanes) update_strip<most>(A, ld, row, col, depth);
  for (; row < n; row += S::lanes) update_strip<1>(A, ld, row, col, depth);
}

// The loops overwrite rows above the diagonal that share a vector register with it. Their values are unused.
bool cholesky_part_f64(double* A, std::size_t n, std::size_t ld, std::size_t columns) {
  std::size_t col = 0;
  for (; col + kPanel <= columns; col += kPanel) {
    update_panel(A, n, ld, col, col);
    if (!factor_columns(A, n, ld, col, col, kPanel)) return false;
  }
  if (!factor_columns(A, n, ld, 0, col, columns - col)) return false;
  for (col = columns; col + kPanel <= n; col += kPanel) update_panel(A, n, ld, col, columns);
  for (; col < n; ++col) update_column(A, n, ld, 0, columns, col);  // a narrow panel
  return true;
}

bool cholesky_f64(double* A, std::size_t n, std::size_t ld) { return cholesky_part_f64(A, n, ld, n); }

void cholesky_solve_f64(const double* A, std::size_t n, std::size_t ld, double* b) {
  using S = Simd<double>;
  for (std::size_t j = 0; j < n; ++j) {
    const double* column = A + j * ld;
    b[j] /= column[j];
    const auto x = S::set(b[j]);
    std::size_t i = j + 1;
    for (; i < n && i % S::lanes != 0; ++i) b[i] -= column[i] * b[j];
    for (; i + S::lanes <= n; i += S::lanes)
      S::store(S::neg_mul_add(x, S::load(column + i), S::load(b + i)), b + i);
    for (; i < n; ++i) b[i] -= column[i] * b[j];
  }
  for (std::size_t j = n; j-- > 0;) {
    const double* column = A + j * ld;
    double sum = b[j];
    auto sums = S::zero();
    std::size_t i = j + 1;
    for (; i < n && i % S::lanes != 0; ++i) sum -= column[i] * b[i];
    for (; i + S::lanes <= n; i += S::lanes) sums = S::mul_add(S::load(column + i), S::load(b + i), sums);
    for (; i < n; ++i) sum -= column[i] * b[i];
    b[j] = (sum - S::sum(sums)) / column[j];
  }
}

}  // namespace
}  // namespace nlsq::inline v0
