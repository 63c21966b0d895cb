// Computes sums that bound rounding errors: the size of the terms of each residual, and their weight in each
// column.
#pragma once

#include "kernels/simd.hpp"

#include "kernels/kernel_table.hpp"

namespace nlsq::inline v0 {
namespace {

void add_first_order_terms(const double* const* J, const double* coefficients, int n, std::size_t rows,
                           double* sizes) {
  using S = Simd<double>;
  const auto infinity = S::set(__builtin_inf());
  for (std::size_t row = 0; row < rows; row += S::lanes) {
    auto sum = S::load(sizes + row);
    for (int j = 0; j < n; ++j) {
      const auto term = S::mul(S::abs(S::load(J[j] + row)), S::set(coefficients[j]));
      sum = S::add(sum, S::choose(S::less(term, infinity), term, S::zero()));
    }
    S::store(sum, sizes + row);
  }
}

void term_sums(const double* column, const double* sizes, std::size_t rows, double* squares, double* terms) {
  using S = Simd<double>;
  auto s0 = S::zero(), s1 = S::zero(), t0 = S::zero(), t1 = S::zero();
  std::size_t row = 0;
  for (; row + 2 * S::lanes <= rows; row += 2 * S::lanes) {
    const auto a = S::load(column + row), b = S::load(column + row + S::lanes);
    s0 = S::mul_add(a, a, s0);
    s1 = S::mul_add(b, b, s1);
    t0 = S::mul_add(S::abs(a), S::load(sizes + row), t0);
    t1 = S::mul_add(S::abs(b), S::load(sizes + row + S::lanes), t1);
  }
  for (; row < rows; row += S::lanes) {
    const std::size_t left = rows - row;
    auto a = S::load(column + row), size = S::load(sizes + row);
    if (left < S::lanes) a = S::keep_first(a, left), size = S::keep_first(size, left);
    s0 = S::mul_add(a, a, s0);
    t0 = S::mul_add(S::abs(a), size, t0);
  }
  *squares += S::sum(S::add(s0, s1));
  *terms += S::sum(S::add(t0, t1));
}

}  // namespace
}  // namespace nlsq::inline v0
