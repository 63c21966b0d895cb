// Computes tanh, inline, for every instruction set with a fused multiply-add.
//
//  |x| = m ln2/2 + h with |h| <= ln2/4 (Cody and Waite; the product with the first part of ln2/2 is
//  subtracted exactly). With s = 2^-m, tanh(m ln2/2) = (1 - s)/(1 + s), so the addition theorem gives
//    tanh |x| = ((1 - s) + (1 + s) T) / ((1 + s) + (1 - s) T),  T = tanh h.
//  T is short: the polynomial in h² is a minimax fit (Remez) of (tanh h - h)/h³. The numerator and the
//  denominator are sums of two numbers each, with the rounding errors of their sums (Dekker). One division
//  gives the inverse of the denominator, and one Newton step adds what the quotient lost by rounding.
#pragma once

#include "kernels/functions/own_exp.hpp"

namespace nlsq::inline v0 {
namespace {
namespace own {

// Holds the constants of a format. From `limit` on, the result is 1. Above `last`, m remains the same; h then
// becomes longer, and 1 + s is still exact. The low bits of `shift` hold the bias of an exponent.
template <class T>
struct TanhConstants;
template <>
struct TanhConstants<double> {
  static constexpr double limit = 19.4, last = 18, shift = 0x1.8p52 + 1023, per_step = 0x1.71547652b82fep+1;
  static constexpr double step = 0x1.62e42fefa39efp-2, step_rest = 0x1.abc9e3b39803fp-57;
};
template <>
struct TanhConstants<float> {
  static constexpr float limit = 9.3f, last = 7.9f, shift = 0x1.8p23f + 127, per_step = 0x1.715476p+1f;
  static constexpr float step = 0x1.62e43p-2f, step_rest = -0x1.05c61p-30f;
};

// Returns (tanh h - h)/h³ for z = h².
template <class S>
NLSQ_INLINE VectorOf<S> tanh_polynomial(VectorOf<S> z) {
  using T = typename S::Element;
  const auto pair = [z](T a, T b) NLSQ_INLINE_LAMBDA { return S::mul_add(z, S::set(b), S::set(a)); };
  const auto z2 = S::mul(z, z);
  if constexpr (sizeof(T) == sizeof(double)) {
    const auto p0 = pair(-0x1.5555555555454p-2, 0x1.11111110c6736p-3);
    const auto p1 = pair(-0x1.ba1ba0d37b546p-5, 0x1.664ea4828e05cp-6);
    const auto p2 = pair(-0x1.22332414e6ffep-7, 0x1.c1ccd672dd9bbp-9);
    return S::mul_add(S::mul_add(p2, z2, p1), z2, p0);
  } else {
    const auto p0 = pair(-0x1.555556p-2f, 0x1.1111d6p-3f), p1 = pair(-0x1.ba9a9ap-5f, 0x1.6e3cdcp-6f);
    return S::mul_add(p1, z2, p0);
  }
}

template <class S>
NLSQ_INLINE VectorOf<S> tanh(VectorOf<S> x) {
  using T = typename S::Element;
  using C = TanhConstants<T>;
  using V = VectorOf<S>;
  const V one = S::set(1), y = S::min(S::set(C::limit), S::abs(x));  // NaN remains NaN
  // n = -m; `shifted` holds the exponent of s.
  const V moved = S::sub(S::min(S::set(C::last), y), S::set(T(0.0078125)));
  const V shifted = S::neg_mul_add(moved, S::set(C::per_step), S::set(C::shift));
  const V n = S::sub(shifted, S::set(C::shift));
  const V s = S::from_bits(S::template shift_left<ExpConstants<T>::mantissa_bits>(S::bits(shifted)));
  const V exact = S::mul_add(n, S::set(C::step), y), low = S::mul(n, S::set(C::step_rest));
  const V h = S::add(exact, low), z = S::mul(h, h);
  const V small = S::mul_add(tanh_polynomial<S>(z), S::mul(h, z), low);  // T = exact + small
  const V minus = S::sub(one, s), plus = S::add(one, s);
  const V large = S::mul_add(plus, exact, minus), large_rest = S::mul_add(plus, exact, S::sub(minus, large));
  const V rest = S::mul_add(plus, small, large_rest);
  const V numerator = S::add(large, rest), numerator_low = S::sub(rest, S::sub(numerator, large));
  const V t = S::add(exact, small);
  const V denominator = S::mul_add(minus, t, plus);
  const V denominator_low = S::mul_add(minus, t, S::sub(plus, denominator));
  const V inverse = S::div(one, denominator), quotient = S::mul(numerator, inverse);
  const V missing = S::add(S::neg_mul_add(quotient, denominator, numerator),
                           S::neg_mul_add(quotient, denominator_low, numerator_low));
  return S::exclusive_or(S::mul_add(missing, inverse, quotient), S::sign_of(x));
}

}  // namespace own
}  // namespace
}  // namespace nlsq::inline v0
