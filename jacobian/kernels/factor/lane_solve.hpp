// Solves small normal equations, one system per lane, by Cholesky's method without square roots: A = Uᵀ
// diag(1/d) U, where U is upper triangular with diagonal d. Batch fits use it.
#pragma once

#include "kernels/gram/gram.hpp"

namespace nlsq::inline v0 {
namespace {

// Solves the systems of one vector of lanes. Entries of a system are `stride` numbers apart. With a constant
// N = n the compiler unrolls the loops and keeps the matrix in registers. N = 0 stands for any n.
template <int N>
NLSQ_INLINE void lane_solve_vector(const double* sums, int any, std::size_t stride, const double* scale,
                                   const double* lambda, double least, double* step, double* nu_squared) {
  using S = Simd<double>;
  using V = S::V;
  constexpr int most = N == 0 ? most_lane_parameters : N;
  const int n = N == 0 ? any : N;
  V U[most * (most + 1) / 2];
  V inverse[most], z[most];
  const auto at = [n](int i, int j) NLSQ_INLINE_LAMBDA { return packed_at(i, j, n); };
  const V damping = S::load(lambda), share = S::set(least);
  V decrement = S::zero();
  auto good = S::less(S::zero(), S::set(1.0));
#pragma GCC unroll 4
  for (int j = 0; j < n; ++j) {  // row j of U, from all rows above it
    const V d = S::load(scale + static_cast<std::size_t>(j) * stride);
#pragma GCC unroll 4
    for (int i = j; i < n; ++i) {
      V entry = S::load(sums + packed_at(j, i, n + 1) * stride);
      if (i == j) entry = S::mul_add(S::mul(damping, d), d, entry);
      const V whole = entry;
#pragma GCC unroll 4
      for (int k = 0; k < j; ++k) entry = S::neg_mul_add(U[at(k, i)], S::mul(U[at(k, j)], inverse[k]), entry);
      U[at(j, i)] = entry;
      if (i == j) {
        good = S::mask_and(good, S::less(S::mul(share, whole), entry));
        inverse[j] = S::div(S::set(1.0), entry);
      }
    }
    V right = S::load(sums + packed_at(j, n, n + 1) * stride);
#pragma GCC unroll 4
    for (int k = 0; k < j; ++k) right = S::neg_mul_add(U[at(k, j)], S::mul(z[k], inverse[k]), right);
    z[j] = right;
    decrement = S::mul_add(S::mul(right, right), inverse[j], decrement);
  }
#pragma GCC unroll 4
  for (int j = n - 1; j >= 0; --j) {
    V sum = z[j];
#pragma GCC unroll 4
    for (int i = j + 1; i < n; ++i) sum = S::neg_mul_add(U[at(j, i)], z[i], sum);
    z[j] = S::mul(sum, inverse[j]);
    S::store(S::neg(z[j]), step + static_cast<std::size_t>(j) * stride);
  }
  S::store(S::choose(good, decrement, S::set(__builtin_nan(""))), nu_squared);
}

template <int N>
NLSQ_NOINLINE void lane_solve_of(const double* sums, int n, std::size_t lanes, const double* scale,
                                 const double* lambda, double least, double* step, double* nu_squared) {
  for (std::size_t l = 0; l < lanes; l += Simd<double>::lanes) {
    lane_solve_vector<N>(sums + l, n, lanes, scale + l, lambda + l, least, step + l, nu_squared + l);
  }
}

void lane_solve(const double* sums, int n, std::size_t lanes, const double* scale, const double* lambda,
                double least, double* step, double* nu_squared) {
  const auto of = [&]<int N>() { lane_solve_of<N>(sums, n, lanes, scale, lambda, least, step, nu_squared); };
  switch (n) {
    case 1: return of.template operator()<1>();
    case 2: return of.template operator()<2>();
    case 3: return of.template operator()<3>();
    case 4: return of.template operator()<4>();
    default: return of.template operator()<0>();
  }
}

}  // namespace
}  // namespace nlsq::inline v0
