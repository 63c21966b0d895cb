// Computes a streaming QR factorization by Householder reflections of [R; tile], where R is upper triangular.
// A reflection changes one row of R and all rows of the tile (Demmel, Grigori, Hoemmen, Langou, SIAM J. Sci.
// Comput. 34, 2012).
#pragma once

#include "kernels/simd.hpp"

#include "kernels/kernel_table.hpp"

namespace nlsq::inline v0 {
namespace {

using S64 = Simd<double>;

NLSQ_NOINLINE double dot(const double* a, const double* b, std::size_t padded_rows) {
  S64::V first = S64::zero(), second = S64::zero();
  std::size_t i = 0;
  for (; i + 2 * S64::lanes <= padded_rows; i += 2 * S64::lanes) {
    first = S64::mul_add(S64::load(a + i), S64::load(b + i), first);
    second = S64::mul_add(S64::load(a + i + S64::lanes), S64::load(b + i + S64::lanes), second);
  }
  if (i < padded_rows) first = S64::mul_add(S64::load(a + i), S64::load(b + i), first);
  return S64::sum(S64::add(first, second));
}

// Computes dot products of x with N columns in one pass.
template <int N>
NLSQ_NOINLINE void dots(const double* x, const double* const* c, std::size_t padded_rows, double* out) {
  S64::V sums[N];
#pragma GCC unroll 8
  for (int k = 0; k < N; ++k) sums[k] = S64::zero();
  for (std::size_t i = 0; i < padded_rows; i += S64::lanes) {
    const S64::V v = S64::load(x + i);
#pragma GCC unroll 8
    for (int k = 0; k < N; ++k) sums[k] = S64::mul_add(v, S64::load(c[k] + i), sums[k]);
  }
#pragma GCC unroll 8
  for (int k = 0; k < N; ++k) out[k] = S64::sum(sums[k]);
}

// Computes c_k -= w_k x for N columns in one pass.
template <int N>
NLSQ_NOINLINE void subtract(const double* x, double* const* c, std::size_t padded_rows, const double* w) {
  S64::V factor[N];
#pragma GCC unroll 8
  for (int k = 0; k < N; ++k) factor[k] = S64::set(w[k]);
  for (std::size_t i = 0; i < padded_rows; i += S64::lanes) {
    const S64::V v = S64::load(x + i);
#pragma GCC unroll 8
    for (int k = 0; k < N; ++k) S64::store(S64::neg_mul_add(factor[k], v, S64::load(c[k] + i)), c[k] + i);
  }
}

double largest(const double* x, std::size_t padded_rows) {
  double top = 0;
  for (std::size_t i = 0; i < padded_rows; ++i) {
    const double v = __builtin_fabs(x[i]);
    if (v > top) top = v;
  }
  return top;
}

void scale(double* x, std::size_t padded_rows, double by) {
  const S64::V factor = S64::set(by);
  for (std::size_t i = 0; i < padded_rows; i += S64::lanes)
    S64::store(S64::mul(S64::load(x + i), factor), x + i);
}

// The reflection H = I - tau v v', v = (v0, x), which maps (diagonal, x) to (beta, 0). x is divided by
// `unit`, a power of two, if its squares would leave the range of double.
struct Reflection {
  double v0 = 0, tau = 0, beta = 0;
};

Reflection reflect(double diagonal, double* x, std::size_t padded_rows) {
  double squares = dot(x, x, padded_rows), unit = 1;
  double alpha = diagonal;
  const double diagonal_square = diagonal * diagonal;
  if (!(squares > 1e-260 && squares < 1e300) || diagonal_square > 1e300) {
    double top = largest(x, padded_rows);
    if (top == 0 && squares == 0) return {0, 0, diagonal};  // there is nothing below the diagonal
    if (__builtin_fabs(diagonal) > top) top = __builtin_fabs(diagonal);
    if (top < __builtin_inf()) {
      // Scales in two steps, because the factor may be as small as 2^-1074.
      const int exponent = __builtin_ilogb(top);
      unit = __builtin_ldexp(1.0, exponent);
      const int half = exponent / 2;
      scale(x, padded_rows, __builtin_ldexp(1.0, -half));
      scale(x, padded_rows, __builtin_ldexp(1.0, -(exponent - half)));
      alpha = __builtin_ldexp(diagonal, -exponent);
      squares = dot(x, x, padded_rows);
      if (squares == 0) return {0, 0, diagonal};
    }
  }
  const double norm = __builtin_sqrt(alpha * alpha + squares);
  const double beta = alpha > 0 ? -norm : norm;
  Reflection h;
  h.v0 = alpha - beta;
  h.tau = 1 / (beta * -h.v0);  // 2 / v'v, where v'v = 2 beta (beta - alpha)
  h.beta = beta * unit;
  return h;
}

template <int N>
void apply(const Reflection& h, const double* x, double* row_of_r, double* const* columns,
           std::size_t padded_rows) {
  double w[N];
  dots<N>(x, columns, padded_rows, w);
  for (int k = 0; k < N; ++k) {
    w[k] = h.tau * (h.v0 * row_of_r[k] + w[k]);
    row_of_r[k] -= w[k] * h.v0;
  }
  subtract<N>(x, columns, padded_rows, w);
}

// Counts a norm for each column, and a dot product and an axpy for each pair: 2 n1 + 4 n1 (n1 - 1) / 2 per
// row.
NLSQ_INLINE std::uint64_t qr_flops(int n1, std::size_t rows) {
  return 2u * static_cast<std::uint64_t>(n1) * static_cast<std::uint64_t>(n1) * rows;
}

void fold_by_columns(double* R, std::size_t stride, int n1, double* const* columns, std::size_t rows) {
  const std::size_t padded_rows = (rows + S64::lanes - 1) / S64::lanes * S64::lanes;
  for (int j = 0; j < n1; ++j)
    for (std::size_t i = rows; i < padded_rows; ++i) columns[j][i] = 0;
  for (int j = 0; j < n1; ++j) {
    double* row_of_r = R + static_cast<std::size_t>(j) * stride;
    const Reflection h = reflect(row_of_r[j], columns[j], padded_rows);
    row_of_r[j] = h.beta;
    if (h.tau == 0) continue;
    int k = j + 1;
    for (; k + 4 <= n1; k += 4) apply<4>(h, columns[j], row_of_r + k, columns + k, padded_rows);
    for (; k < n1; ++k) apply<1>(h, columns[j], row_of_r + k, columns + k, padded_rows);
  }
}

}  // namespace
}  // namespace nlsq::inline v0
