// Computes sin and cos, inline, for every instruction set with a fused multiply-add. Both come from one
// reduction, because derivatives need both.
//
//  x = n pi/2 + r + rest, |r| <= pi/4 (Cody and Waite; pi/2 in three parts). The first product is subtracted
//  exactly: both numbers are multiples of ulp(pi/2), and the difference is below 1. The rounding errors of
//  the second product, and of its difference (Knuth's TwoSum), go into `rest`. Polynomials in r² are
//  Chebyshev fits of (sin r - r)/r³ and (cos r - 1 + r²/2)/r⁴. Valid for |x| <= SinCosConstants<T>::limit;
//  lanes beyond it and NaN need another function.
#pragma once

#include "kernels/functions/own_exp.hpp"

namespace nlsq::inline v0 {
namespace {
namespace own {

template <class T>
struct SinCosConstants;
template <>
struct SinCosConstants<double> {
  static constexpr double limit = 1e6, shift = 0x1.8p52, per_quarter = 0x1.45f306dc9c883p-1;
  static constexpr double first = 0x1.921fb54442d18p+0, second = 0x1.1a62633145c07p-54,
                          third = -0x1.f1976b7ed8fbcp-110;
};
template <>
struct SinCosConstants<float> {
  static constexpr float limit = 1e4f, shift = 0x1.8p23f, per_quarter = 0x1.45f306p-1f;
  static constexpr float first = 0x1.921fb6p+0f, second = -0x1.777a5cp-25f, third = -0x1.ee59dap-50f;
};

template <class S>
struct SinCos {
  VectorOf<S> sine, cosine;
};

// Returns (sin r - r)/r³ and (cos r - 1 + r²/2)/r⁴ for z = r², z2 = z². Even and odd powers are summed
// separately, for shorter dependency chains.
template <class S>
NLSQ_INLINE SinCos<S> sincos_polynomials_f64(VectorOf<S> z, VectorOf<S> z2) {
  const auto pair = [z](double a, double b)
                        NLSQ_INLINE_LAMBDA { return S::mul_add(z, S::set(b), S::set(a)); };
  const auto s0 = pair(-0x1.5555555555555p-3, 0x1.1111111110bafp-7);
  const auto s1 = pair(-0x1.a01a019e82d4dp-13, 0x1.71de37957ce9cp-19);
  const auto s2 = pair(-0x1.ae6009eea5af6p-26, 0x1.5e0ab7608d182p-33);
  const auto c0 = pair(0x1.5555555555555p-5, -0x1.6c16c16c16966p-10);
  const auto c1 = pair(0x1.a01a019f4e69bp-16, -0x1.27e4fa177b63cp-22);
  const auto c2 = pair(0x1.1eeb68842d4e4p-29, -0x1.907d58f39ba23p-37);
  return {S::mul_add(S::mul_add(s2, z2, s1), z2, s0), S::mul_add(S::mul_add(c2, z2, c1), z2, c0)};
}
template <class S>
NLSQ_INLINE SinCos<S> sincos_polynomials_f32(VectorOf<S> z, VectorOf<S> z2) {
  const auto pair = [z](float a, float b) NLSQ_INLINE_LAMBDA { return S::mul_add(z, S::set(b), S::set(a)); };
  const auto s0 = pair(-0.1666666716337204f, 0.008333331905305386f);
  const auto s1 = pair(-0.00019840085587929934f, 2.7249773211224237e-06f);
  const auto c =
      S::mul_add(z, pair(-0.001388830249197781f, 2.4547816792619415e-05f), S::set(0.0416666641831398f));
  return {S::mul_add(s1, z2, s0), c};
}

template <class S>
NLSQ_INLINE SinCos<S> sincos_polynomials(VectorOf<S> z, VectorOf<S> z2) {
  if constexpr (sizeof(typename S::Element) == sizeof(double)) return sincos_polynomials_f64<S>(z, z2);
  else return sincos_polynomials_f32<S>(z, z2);
}

template <class S>
NLSQ_INLINE typename S::M has_sincos(VectorOf<S> x) {
  return S::less_equal(S::abs(x), S::set(SinCosConstants<typename S::Element>::limit));
}

template <class S>
NLSQ_INLINE SinCos<S> sincos(VectorOf<S> x) {
  using T = typename S::Element;
  using C = SinCosConstants<T>;
  using V = VectorOf<S>;
  const V shift = S::set(C::shift);  // adding it rounds to an integer in the low bits
  const V shifted = S::mul_add(x, S::set(C::per_quarter), shift);
  const V n = S::sub(shifted, shift);
  const V first = S::neg_mul_add(n, S::set(C::first), x);
  const V second = S::mul(n, S::set(C::second));
  const V r = S::sub(first, second), taken = S::sub(r, first);
  const V lost = S::sub(S::sub(first, S::sub(r, taken)), S::add(second, taken));
  const V rest = S::neg_mul_add(n, S::set(C::third), S::sub(lost, S::mul_sub(n, S::set(C::second), second)));
  const V z = S::mul(r, r), half_z = S::mul(z, S::set(T(0.5))), z2 = S::mul(z, z);
  const SinCos<S> p = sincos_polynomials<S>(z, z2);
  // sin(r + rest) = r + (r³ s + rest (1 - z/2)); cos = w + ((1 - w - z/2) + (z² c - r rest)), w = 1 - z/2.
  const V turned = S::neg_mul_add(half_z, rest, rest);
  const V sine = S::add(r, S::mul_add(S::mul(r, z), p.sine, turned));
  const V w = S::sub(S::set(1), half_z);
  const V low = S::neg_mul_add(r, rest, S::sub(S::sub(S::set(1), w), half_z));
  const V cosine = S::add(w, S::mul_add(z2, p.cosine, low));
  // The last two bits of n are the quadrant. Odd quadrants exchange sine and cosine; the signs follow.
  constexpr int most = 8 * sizeof(T) - 1;
  const auto quadrant = S::bits(shifted), one = S::set_bits(1);
  const auto sign_of = [](auto bits) NLSQ_INLINE_LAMBDA {
    return S::sign_of(S::from_bits(S::template shift_left<most - 1>(bits)));
  };
  const V odd = S::from_bits(S::template shift_left<most>(quadrant));
  const V signed_sine = S::exclusive_or(S::choose_negative(odd, cosine, sine), sign_of(quadrant));
  const V signed_cosine =
      S::exclusive_or(S::choose_negative(odd, sine, cosine), sign_of(S::add_bits(quadrant, one)));
  return {S::choose(S::equal(x, S::zero()), x, signed_sine), signed_cosine};  // a zero keeps its sign
}

}  // namespace own
}  // namespace
}  // namespace nlsq::inline v0
