// Solves small normal equations, one system per lane, by Cholesky's method without square roots: A = Uᵀ
// diag(1/d) U, where U is upper triangular with diagonal d. Batch fits use it.
#pragma once

#include "kernels/gram/gram.hpp"

namespace nlsq::inline v0 {
namespace {

// Solves the systems of one vector of lanes; entries of a system are `stride` numbers apart.
NLSQ_INLINE void lane_solve_vector(const double* sums, int n, std::size_t stride, const double* scale,
                                   const double* lambda, double least, double* step, double* nu_squared) {
  using S = Simd<double>;
  using V = S::V;
  V U[most_lane_parameters * (most_lane_parameters + 1) / 2];
  V inverse[most_lane_parameters], z[most_lane_parameters];
  const auto at = [n](int i, int j) NLSQ_INLINE_LAMBDA { return packed_at(i, j, n); };
  const V damping = S::load(lambda), share = S::set(least);
  V decrement = S::zero();
  auto good = S::less(S::zero(), S::set(1.0));
  for (int j = 0; j < n; ++j) {  // row j of U, from all rows above it
    const V d = S::load(scale + static_cast<std::size_t>(j) * stride);
    for (int i = j; i < n; ++i) {
      V entry = S::load(sums + packed_at(j, i, n + 1) * stride);
      if (i == j) entry = S::mul_add(S::mul(damping, d), d, entry);
      const V whole = entry;
      for (int k = 0; k < j; ++k) entry = S::neg_mul_add(U[at(k, i)], S::mul(U[at(k, j)], inverse[k]), entry);
      U[at(j, i)] = entry;
      if (i == j) {
        good = S::mask_and(good, S::less(S::mul(share, whole), entry));
        inverse[j] = S::div(S::set(1.0), entry);
      }
    }
    V right = S::load(sums + packed_at(j, n, n + 1) * stride);
    for (int k = 0; k < j; ++k) right = S::neg_mul_add(U[at(k, j)], S::mul(z[k], inverse[k]), right);
    z[j] = right;
    decrement = S::mul_add(S::mul(right, right), inverse[j], decrement);
  }
  for (int j = n; j-- > 0;) {
    V sum = z[j];
    for (int i = j + 1; i < n; ++i) sum = S::neg_mul_add(U[at(j, i)], z[i], sum);
    z[j] = S::mul(sum, inverse[j]);
    S::store(S::neg(z[j]), step + static_cast<std::size_t>(j) * stride);
  }
  S::store(S::choose(good, decrement, S::set(__builtin_nan(""))), nu_squared);
}

void lane_solve(const double* sums, int n, std::size_t lanes, const double* scale, const double* lambda,
                double least, double* step, double* nu_squared) {
  for (std::size_t l = 0; l < lanes; l += Simd<double>::lanes) {
    lane_solve_vector(sums + l, n, lanes, scale + l, lambda + l, least, step + l, nu_squared + l);
  }
}

}  // namespace
}  // namespace nlsq::inline v0
