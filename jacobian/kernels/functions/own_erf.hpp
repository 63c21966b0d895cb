// Computes erf, inline, for every instruction set with a fused multiply-add.
//
//  Let y = |x|. Below a bound c near 0.7, erf y = y + y p(y²). From there on, erf y = 1 - exp(g(y - c)) with
//  a polynomial g for log erfc. SLEEF uses the second form for all arguments, and needs two doubles for it.
//  Here the exponential is at most erfc(c) = 0.33, so errors of g count less. The rounding error of the last
//  sum of g goes into the exponential, and 1 - exp is formed from the exponential's parts (own_expm1.hpp), so
//  that it is rounded once. Both polynomials are minimax fits (Remez). That of g is weighted by erfc, so it
//  may err more where the result is close to 1. c was chosen so that log erfc(c) is almost a number of the
//  format.
#pragma once

#include "kernels/functions/own_expm1.hpp"

namespace nlsq::inline v0 {
namespace {
namespace own {

// Holds the constants of a format. Beyond `limit` the result is 1. `start` is log erfc(bound).
template <class T>
struct ErfConstants;
template <>
struct ErfConstants<double> {
  static constexpr double bound = 0.705078125, limit = 5.9375, start = -0x1.24bc8fb753e37p+0;
  static constexpr double least = -36.5;
};
template <>
struct ErfConstants<float> {
  static constexpr float bound = 0.6845703125f, limit = 3.9375f, start = -0x1.198422p+0f;
  static constexpr float least = -16.5f;
};

// Returns erf(y)/y - 1 for z = y². Here and below the largest term is added last, so that the rounding of the
// others matters less.
template <class S>
NLSQ_INLINE VectorOf<S> erf_polynomial_f64(VectorOf<S> z) {
  const auto pair = [z](double a, double b)
                        NLSQ_INLINE_LAMBDA { return S::mul_add(z, S::set(b), S::set(a)); };
  const auto z2 = S::mul(z, z), z4 = S::mul(z2, z2);
  const auto p0 = pair(-0x1.812746b037a06p-2, 0x1.ce2f21a043fddp-4);
  const auto p1 = pair(-0x1.b82ce312e4ff5p-6, 0x1.565bcd1ca5339p-8);
  const auto p2 = pair(-0x1.c02db6806859ep-11, 0x1.f9a365b8ece6bp-14);
  const auto p3 = pair(-0x1.f4d5073d84f32p-17, 0x1.b9d4105549bd4p-20);
  const auto p4 = pair(-0x1.5be75398c3108p-23, 0x1.ace4f75f5f377p-27);
  const auto first = S::mul_add(p1, z2, p0), last = S::mul_add(S::mul_add(p4, z2, p3), z2, p2);
  return S::mul_add(z, S::mul_add(last, z4, first), S::set(0x1.06eba8214db69p-3));
}
template <class S>
NLSQ_INLINE VectorOf<S> erf_polynomial_f32(VectorOf<S> z) {
  const auto pair = [z](float a, float b) NLSQ_INLINE_LAMBDA { return S::mul_add(z, S::set(b), S::set(a)); };
  const auto z2 = S::mul(z, z);
  const auto p0 = pair(-0x1.812740p-2f, 0x1.ce2cc8p-4f), p1 = pair(-0x1.b7daa8p-6f, 0x1.5120dep-8f);
  const auto p = S::mul_add(S::mul_add(z2, S::set(-0x1.6f5daep-11f), p1), z2, p0);
  return S::mul_add(z, p, S::set(0x1.06eba8p-3f));
}

// Returns (log erfc(bound + v) - start)/v.
template <class S>
NLSQ_INLINE VectorOf<S> log_erfc_polynomial_f64(VectorOf<S> v) {
  const auto pair = [v](double a, double b)
                        NLSQ_INLINE_LAMBDA { return S::mul_add(v, S::set(b), S::set(a)); };
  const auto v2 = S::mul(v, v), v4 = S::mul(v2, v2), v8 = S::mul(v4, v4);
  const auto p0 = pair(-0x1.99e3db78653e1p-1, -0x1.c46fc0198d2e5p-5);
  const auto p1 = pair(0x1.b12a5af2361cdp-7, -0x1.2d8bb876425d5p-9);
  const auto p2 = pair(0x1.86a6d776e307dp-14, 0x1.09388235c3f1bp-13);
  const auto p3 = pair(-0x1.f9243513703d5p-15, 0x1.f373c9e91f302p-17);
  const auto p4 = pair(-0x1.0b187bb64bc4ap-20, -0x1.0dc77678a9f95p-20);
  const auto p5 = pair(0x1.39ed6da07e493p-21, -0x1.9d88cf1664091p-23);
  const auto p6 = pair(0x1.7e826487897d2p-25, -0x1.fbc26ad52672fp-28);
  const auto p7 = pair(0x1.cfda96643bd20p-31, -0x1.05aa65d0da2c8p-34);
  const auto q0 = S::mul_add(p1, v2, p0), q1 = S::mul_add(p3, v2, p2), q2 = S::mul_add(p5, v2, p4);
  const auto q3 = S::mul_add(v4, S::set(0x1.129dc471cf89fp-39), S::mul_add(p7, v2, p6));
  const auto q = S::mul_add(S::mul_add(q3, v4, q2), v8, S::mul_add(q1, v4, q0));
  return S::mul_add(v, q, S::set(-0x1.13a9c28b06591p+1));
}
template <class S>
NLSQ_INLINE VectorOf<S> log_erfc_polynomial_f32(VectorOf<S> v) {
  const auto pair = [v](float a, float b) NLSQ_INLINE_LAMBDA { return S::mul_add(v, S::set(b), S::set(a)); };
  const auto v2 = S::mul(v, v);
  const auto p0 = pair(-0x1.9821a2p-1f, -0x1.cda066p-5f), p1 = pair(0x1.bc3ba2p-7f, -0x1.48d78ep-9f);
  const auto p2 = pair(0x1.383de0p-12f, -0x1.004ceap-16f);
  return S::mul_add(v, S::mul_add(S::mul_add(p2, v2, p1), v2, p0), S::set(-0x1.0f781ap+1f));
}

template <class S>
NLSQ_INLINE VectorOf<S> erf(VectorOf<S> x) {
  using T = typename S::Element;
  using C = ErfConstants<T>;
  using V = VectorOf<S>;
  const V y = S::min(S::set(C::limit), S::abs(x));  // NaN remains NaN
  const V z = S::mul(y, y), v = S::sub(y, S::set(C::bound)), start = S::set(C::start);
  V near, slope;
  if constexpr (sizeof(T) == sizeof(double)) {
    near = erf_polynomial_f64<S>(z), slope = log_erfc_polynomial_f64<S>(v);
  } else {
    near = erf_polynomial_f32<S>(z), slope = log_erfc_polynomial_f32<S>(v);
  }
  const V exponent = S::mul_add(v, slope, start);
  const V rest = S::mul_add(v, slope, S::sub(start, exponent));
  const ExpParts<S> e = exp_parts<S, 0>(exponent, S::max(exponent, S::set(C::least)), rest);
  const V power = power_of<S>(e);
  const V far = S::neg_mul_add(power, S::add(e.exact, e.small), S::sub(S::set(1), power));
  const V result = S::choose(S::less(y, S::set(C::bound)), S::mul_add(y, near, y), far);
  return S::exclusive_or(result, S::sign_of(x));
}

}  // namespace own
}  // namespace
}  // namespace nlsq::inline v0
