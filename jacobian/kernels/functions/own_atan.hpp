// Computes atan, inline, for every instruction set with a fused multiply-add.
//
//  Let y = |x|. In three ranges, atan y = atan q, pi/4 + atan q, pi/2 + atan q with q = y, (y - 1)/(y + 1),
//  -1/y (Cephes divides the range in the same way). The ranges meet at 1/2 and at tan(3 pi/8), so |q| <= 1/2.
//  All three are one quotient (y or 0) - (0 or 1) over (y or 0) + (0 or 1), so lanes of all ranges are
//  computed together. The rounding errors of q, of the denominator and of the last sum are kept and added.
//  The first range ends at 1/2 and not at tan(pi/8), because then the numerator is exact. The polynomials in
//  z = q² are minimax fits (Remez) of (atan q - q)/q³.
#pragma once

#include "kernels/functions/own_exp.hpp"

namespace nlsq::inline v0 {
namespace {
namespace own {

template <class T>
struct AtanConstants;
template <>
struct AtanConstants<double> {
  static constexpr double limit = 1e20, far = 0x1.3504f333f9de6p+1;
  static constexpr double quarter_pi = 0x1.921fb54442d18p-1, quarter_pi_rest = 0x1.1a62633145c07p-55;
};
template <>
struct AtanConstants<float> {
  static constexpr float limit = 1e10f, far = 0x1.3504f4p+1f;
  static constexpr float quarter_pi = 0x1.921fb6p-1f, quarter_pi_rest = -0x1.777a5cp-26f;
};

// Returns (atan q - q)/q³ for z = q².
template <class S>
NLSQ_INLINE VectorOf<S> atan_polynomial_f64(VectorOf<S> z) {
  const auto pair = [z](double a, double b)
                        NLSQ_INLINE_LAMBDA { return S::mul_add(z, S::set(b), S::set(a)); };
  const auto z2 = S::mul(z, z), z4 = S::mul(z2, z2);
  const auto p0 = pair(0x1.99999999914d8p-3, -0x1.249249216fd8dp-3);
  const auto p1 = pair(0x1.c71c7096872b0p-4, -0x1.745cf54e1a126p-4);
  const auto p2 = pair(0x1.3b11453fd6c1dp-4, -0x1.10f3671e34475p-4);
  const auto p3 = pair(0x1.dfed1022227fap-5, -0x1.a3a78aa4193afp-5);
  const auto p4 = pair(0x1.571e2b089d98bp-5, -0x1.c1fb7e8a47596p-6);
  const auto last = S::mul_add(z2, S::set(0x1.4c2996297c453p-7), p4);
  const auto first = S::mul_add(p1, z2, p0), middle = S::mul_add(p3, z2, p2);
  // The largest term is added last, so that the rounding of the others matters less.
  const auto p = S::mul_add(S::mul_add(last, z4, middle), z4, first);
  return S::mul_add(z, p, S::set(-0x1.5555555555518p-2));
}
template <class S>
NLSQ_INLINE VectorOf<S> atan_polynomial_f32(VectorOf<S> z) {
  const auto pair = [z](float a, float b) NLSQ_INLINE_LAMBDA { return S::mul_add(z, S::set(b), S::set(a)); };
  const auto z2 = S::mul(z, z);
  const auto p0 = pair(-0x1.555552p-2f, 0x1.999748p-3f), p1 = pair(-0x1.24509ep-3f, 0x1.c07aa4p-4f);
  const auto p2 = pair(-0x1.482e6ap-4f, 0x1.403536p-5f);
  return S::mul_add(S::mul_add(p2, z2, p1), z2, p0);
}

template <class S>
NLSQ_INLINE VectorOf<S> atan(VectorOf<S> x) {
  using T = typename S::Element;
  using C = AtanConstants<T>;
  using V = VectorOf<S>;
  const V zero = S::zero(), one = S::set(1);
  const V y = S::min(S::set(C::limit), S::abs(x));  // NaN remains NaN
  const auto beyond_half = S::less(S::set(T(0.5)), y), far = S::less(S::set(C::far), y);
  const V subtracted = S::choose(beyond_half, one, zero), added = S::choose(far, zero, one);
  const V below = S::choose(beyond_half, y, zero), above = S::choose(far, zero, y);
  const V numerator = S::sub(above, subtracted), denominator = S::add(below, added);
  const V denominator_low = S::sub(S::min(below, added), S::sub(denominator, S::max(below, added)));
  const V inverse = S::div(one, denominator), q = S::mul(numerator, inverse);
  const V missing = S::neg_mul_add(q, denominator_low, S::neg_mul_add(q, denominator, numerator));
  const V z = S::mul(q, q);
  VectorOf<S> p;
  if constexpr (sizeof(T) == sizeof(double)) p = atan_polynomial_f64<S>(z);
  else p = atan_polynomial_f32<S>(z);
  // The multiple of pi/4 is exact in its first part.
  const V quarters = S::add(S::sub(subtracted, added), one), start = S::mul(quarters, S::set(C::quarter_pi));
  const V rest = S::mul_add(missing, inverse, S::mul(quarters, S::set(C::quarter_pi_rest)));
  const V sum = S::add(start, q), sum_low = S::sub(q, S::sub(sum, start));
  const V low = S::add(sum_low, S::mul_add(S::mul(q, z), p, rest));
  return S::exclusive_or(S::add(sum, low), S::sign_of(x));
}

}  // namespace own
}  // namespace
}  // namespace nlsq::inline v0
