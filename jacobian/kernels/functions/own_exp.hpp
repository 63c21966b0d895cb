// Computes exp, inline so that consecutive vectors overlap, for every instruction set with a fused
// multiply-add. It is the most frequent function of models.
//
//  x = n ln2 + r, |r| <= ln2/2, and exp(x) = 2^n exp(r). The product of n and the first part of ln2 is
//  subtracted exactly. The product with the second part is kept apart and added to the small terms, because
//  rounding it into r would cost a quarter of an ulp. The polynomials are Chebyshev fits of
//  (exp(r) - 1 - r) / r². The error is below 1 ulp; the tests of the elementary functions check it.
//
//  The functions are written once, for any vector type S. Simd<T> computes with the CPU's vectors. The code
//  generator has a type that records the operations instead (machine_code/writer.hpp), so generated code
//  computes the same bits.
//
//  With AVX-512 and doubles, x = n ln2/16 + r, exp(x) = 2^(n/16) exp(r), |r| <= ln2/32. The sixteen powers
//  2^(j/16) are kept in registers, in two parts, and permuted by the low bits of n (Tang, ACM TOMS 15, 1989).
//  That saves a quarter of the operations; elsewhere, where a look-up goes to memory, it saves nothing.
#pragma once

#include "kernels/inline.hpp"

#include <cstdint>

namespace nlsq::inline v0 {
namespace {
namespace own {

template <class S>
using VectorOf = typename S::V;
template <class S>
using BitsOf = typename S::Bits;

// exp(x) is infinite from `limit` on and 0 below `zero`.
template <class T>
struct ExpConstants;
template <>
struct ExpConstants<double> {
  static constexpr double limit = 1000, zero = -745.2, far = -8192;
  static constexpr int mantissa_bits = 52;
};
template <>
struct ExpConstants<float> {
  static constexpr float limit = 120, zero = -104, far = -1024;
  static constexpr int mantissa_bits = 23;
};

// Holds the constants of a step. n counts steps of ln2, or of ln2/16. Adding `shift` to a number below 2^20
// rounds it to an integer. The low bits of the sum then hold n and, with steps of ln2, twice the bias of an
// exponent, which keeps them positive.
template <class T, bool avx512>
struct ExpSteps {
  static constexpr float shift = 0x1.8p23f + 254, per_step = 0x1.715476p+0f;
  static constexpr float step = 0x1.62e43p-1f, step_rest = -0x1.05c61p-29f;
};
template <>
struct ExpSteps<double, false> {
  static constexpr double shift = 0x1.8p52 + 2046, per_step = 0x1.71547652b82fep+0;
  static constexpr double step = 0x1.62e42fefa39efp-1, step_rest = 0x1.abc9e3b39803fp-56;
};
template <>
struct ExpSteps<double, true> {
  static constexpr double shift = 0x1.8p52, per_step = 23.083120654223414;
  static constexpr double step = 0x1.62e42fefa39efp-5, step_rest = 0x1.abc9e3b39803fp-60;
};
template <class S>
using ExpStepsOf = ExpSteps<typename S::Element, S::avx512>;

// Returns entry number `index` of a table. Only the low four bits of the index count.
template <class S>
NLSQ_INLINE VectorOf<S> lookup(const double (&table)[16], BitsOf<S> index) {
  if constexpr (S::avx512) return S::permute(table, index);
  else return S::gather(table, S::and_bits(index, S::set_bits(15)));
}

// Returns 2^n v, rounded once. With AVX-512 it is 2^floor(n) v. Elsewhere v is multiplied by two powers of
// about half of n, because one factor could be out of range. They are made of the bits of `shifted`, which is
// n plus its shift.
template <class S>
NLSQ_INLINE VectorOf<S> times_power_of_two(VectorOf<S> v, [[maybe_unused]] VectorOf<S> n,
                                           [[maybe_unused]] VectorOf<S> shifted) {
  if constexpr (S::avx512) {
    return S::scale(v, n);
  } else {
    constexpr int mantissa = ExpConstants<typename S::Element>::mantissa_bits;
    const auto sum = S::bits(shifted), half = S::template shift_right<1>(sum);
    const auto first = S::template shift_left<mantissa>(half);
    const auto second = S::template shift_left<mantissa>(S::sub_bits(sum, half));
    return S::mul(S::mul(v, S::from_bits(first)), S::from_bits(second));
  }
}

// Returns (exp(r) - 1 - r) / r², for floats.
template <class S>
NLSQ_INLINE VectorOf<S> exp_polynomial_f32(VectorOf<S> r) {
  auto p = S::mul_add(r, S::set(0.000198909808698f), S::set(0.0013933641032f));
  p = S::mul_add(r, p, S::set(0.00833331093445f));
  p = S::mul_add(r, p, S::set(0.041666465006f));
  p = S::mul_add(r, p, S::set(0.166666666816f));
  return S::mul_add(r, p, S::set(0.500000001346f));
}

// The table holds 2^(j/16), rounded, and the remainders.
alignas(64) constexpr double power_of_two[16] = {
    0x1.0000000000000p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0,
    0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0,
    0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
    0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0};
alignas(64) constexpr double power_of_two_rest[16] = {0,
                                                      0x1.8a62e4adc610bp-54,
                                                      -0x1.19041b9d78a76p-55,
                                                      0x1.9b07eb6c70573p-54,
                                                      0x1.6f46ad23182e4p-55,
                                                      0x1.ada0911f09ebcp-55,
                                                      0x1.d4397afec42e2p-56,
                                                      0x1.6324c054647adp-54,
                                                      -0x1.bdd3413b26456p-54,
                                                      -0x1.41577ee04992fp-55,
                                                      0x1.6e9f156864b27p-54,
                                                      0x1.c7c46b071f2bep-56,
                                                      0x1.7a1cd345dcc81p-54,
                                                      0x1.11065895048ddp-55,
                                                      0x1.2ed02d75b3707p-55,
                                                      -0x1.e9c23179c2893p-54};

// Returns 2^(n/16) exp(r) for x = n ln2/16 + r. With a rest, the polynomial has one power more, which gives
// an error of 0.02 ulp instead of 0.25.
template <class S, class... Rest>
NLSQ_INLINE VectorOf<S> exp_of_sixteenths(VectorOf<S> exact, VectorOf<S> n, VectorOf<S> shifted,
                                          Rest... rest) {
  auto r = S::neg_mul_add(n, S::set(ExpStepsOf<S>::step_rest), exact);
  if constexpr (sizeof...(rest) == 1) r = S::add(r, rest...);
  const auto r2 = S::mul(r, r);
  VectorOf<S> low, high;
  if constexpr (sizeof...(rest) == 0) {
    low = S::mul_add(r, S::set(0.16666666665296222739), S::set(0.5));
    high = S::mul_add(r, S::set(0.0013889034639665864761), S::set(0.0083334499341071853523));
    high = S::mul_add(r, high, S::set(0.041666666664953614554));
  } else {
    low = S::mul_add(r, S::set(0x1.5555555555556p-3), S::set(0.5));
    high = S::mul_add(r, S::set(0x1.a01b0c3c80bbcp-13), S::set(0x1.6c17ed5c1f49ep-10));
    high = S::mul_add(r, high, S::set(0x1.11111110e1059p-7));
    high = S::mul_add(r, high, S::set(0x1.55555554e93b7p-5));
  }
  const auto p = S::mul_add(S::mul_add(high, r2, low), r2, r);  // exp(r) - 1
  const auto index = S::bits(shifted);
  const auto power = lookup<S>(power_of_two, index), power_rest = lookup<S>(power_of_two_rest, index);
  const auto result = S::add(power, S::mul_add(power, p, power_rest));
  return times_power_of_two<S>(result, S::mul(n, S::set(0.0625)), shifted);
}
// Returns exp(r) 2^n for floats with AVX-512. The low part is rounded into r, which saves an operation. The
// error is 0.99 ulp at most.
template <class S>
NLSQ_INLINE VectorOf<S> exp_rounded_f32(VectorOf<S> exact, VectorOf<S> n, VectorOf<S> shifted) {
  const auto r = S::neg_mul_add(n, S::set(ExpStepsOf<S>::step_rest), exact), r2 = S::mul(r, r);
  const auto p = S::mul_add(exp_polynomial_f32<S>(r), r2, r);
  return times_power_of_two<S>(S::add(p, S::set(1)), n, shifted);
}

// Returns (exp(r) - 1 - r) / r², for doubles. Neighbouring powers are joined first, for shorter dependency
// chains (Estrin).
template <class S>
NLSQ_INLINE VectorOf<S> exp_polynomial_f64(VectorOf<S> r, VectorOf<S> r2) {
  const auto pair = [r](double a, double b)
                        NLSQ_INLINE_LAMBDA { return S::mul_add(r, S::set(b), S::set(a)); };
  const auto r4 = S::mul(r2, r2);
  const auto last =
      S::mul_add(r2, S::set(0x1.1f730349868cep-29), pair(0x1.27e4db646b17ep-22, 0x1.af4de97ca4194p-26));
  const auto middle = S::mul_add(r2, pair(0x1.a01a01a6d889cp-16, 0x1.71de0231960ebp-19),
                                 pair(0x1.6c16c16c162d4p-10, 0x1.a01a01abe7fe1p-13));
  const auto first =
      S::mul_add(r2, pair(0x1.5555555555556p-5, 0x1.11111111100dcp-7), pair(0.5, 0x1.5555555555557p-3));
  return S::mul_add(r4, S::mul_add(r4, last, middle), first);
}

// Returns 2^n exp(exact + low + rest), with the product of n and the second part of ln2 in `low`. With a
// rest, the rounding error of 1 + exact is added to the small terms. That leaves a quarter of an ulp for the
// error of the argument. pow needs it, because its argument is a logarithm times an exponent that may be
// large.
template <class S, class... Rest>
NLSQ_INLINE VectorOf<S> exp_of_whole_steps(VectorOf<S> exact, VectorOf<S> n, VectorOf<S> shifted,
                                           Rest... rest) {
  using T = typename S::Element;
  auto low = S::mul(n, S::set(-ExpStepsOf<S>::step_rest));
  if constexpr (sizeof...(rest) == 1) low = S::add(low, rest...);
  const auto r = S::add(exact, low), r2 = S::mul(r, r);
  VectorOf<S> p;
  if constexpr (sizeof(T) == sizeof(double)) p = exp_polynomial_f64<S>(r, r2);
  else p = exp_polynomial_f32<S>(r);
  const auto small = S::mul_add(p, r2, low), one = S::set(1);
  if constexpr (sizeof...(rest) == 1) {
    const auto sum = S::add(one, exact), error = S::sub(exact, S::sub(sum, one));
    return times_power_of_two<S>(S::add(sum, S::add(small, error)), n, shifted);
  } else {
    return times_power_of_two<S>(S::add(one, S::add(exact, small)), n, shifted);
  }
}

template <class S, class... Rest>
NLSQ_INLINE VectorOf<S> exp_reduced(VectorOf<S> exact, VectorOf<S> n, VectorOf<S> shifted, Rest... rest) {
  if constexpr (!S::avx512) return exp_of_whole_steps<S>(exact, n, shifted, rest...);
  else if constexpr (sizeof(typename S::Element) == sizeof(double))
    return exp_of_sixteenths<S>(exact, n, shifted, rest...);
  else return exp_rounded_f32<S>(exact, n, shifted);
}

// Returns exp(x), or exp(x + rest) with |rest| at most a few ulp of x.
template <class S, class... Rest>
NLSQ_INLINE VectorOf<S> exp(VectorOf<S> x, Rest... rest) {
  using C = ExpStepsOf<S>;
  using Range = ExpConstants<typename S::Element>;
  // Limits x beyond the range of results. NaN remains NaN: on x86, min and max return their second argument
  // if one is NaN; on ARM the result is NaN.
  // On an Intel CPU, S::scale takes 60 ns if the result is below the smallest number, unless the power is far
  // below all numbers. So x becomes `far` with AVX-512 where the result is 0.
  x = S::min(S::set(Range::limit), x);
  if constexpr (S::avx512) x = S::choose(S::less(x, S::set(Range::zero)), S::set(Range::far), x);
  else x = S::max(S::set(-Range::limit), x);
  const auto shifted = S::mul_add(x, S::set(C::per_step), S::set(C::shift));
  const auto n = S::sub(shifted, S::set(C::shift));
  const auto exact = S::neg_mul_add(n, S::set(C::step), x);
  return exp_reduced<S>(exact, n, shifted, rest...);
}

}  // namespace own
}  // namespace
}  // namespace nlsq::inline v0
