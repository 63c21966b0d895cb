// Computes expm1, inline, for every instruction set with a fused multiply-add. It also computes the parts of
// exp that erf and erfc need.
//
//  x = n ln2 + r with |r| <= ln2/2 as in own_exp.hpp, and exp(x) - 1 = (2^n - 1) + 2^n r + 2^n (exp(r) - 1 -
//  r). The first sum is formed with its rounding error (Dekker), so the result is rounded once. The
//  polynomial is a minimax fit (Remez) of (exp(r) - 1 - r - r²/2)/r³; the square is added last, so that the
//  rounding of the others matters less.
#pragma once

#include "kernels/functions/own_exp.hpp"

namespace nlsq::inline v0 {
namespace {
namespace own {

// Holds the constants of a format. The low bits of `shift` hold the bias of an exponent. All sets use this
// one table, whereas own_exp.hpp has shorter steps with AVX-512. Beyond `least` expm1 is -1, and beyond
// `most` infinite.
template <class T>
struct WholeSteps;
template <>
struct WholeSteps<double> {
  static constexpr double shift = 0x1.8p52 + 1023, per_step = 0x1.71547652b82fep+0;
  static constexpr double step = 0x1.62e42fefa39efp-1, step_rest = 0x1.abc9e3b39803fp-56;
  static constexpr double least = -37.6, most = 709.8;
};
template <>
struct WholeSteps<float> {
  static constexpr float shift = 0x1.8p23f + 127, per_step = 0x1.715476p+0f;
  static constexpr float step = 0x1.62e43p-1f, step_rest = -0x1.05c61p-29f;
  static constexpr float least = -17.5f, most = 88.8f;
};

// Returns (exp(r) - 1 - r - r²/2)/r³ for r2 = r².
template <class S>
NLSQ_INLINE VectorOf<S> expm1_polynomial(VectorOf<S> r, VectorOf<S> r2) {
  using T = typename S::Element;
  const auto pair = [r](T a, T b) NLSQ_INLINE_LAMBDA { return S::mul_add(r, S::set(b), S::set(a)); };
  if constexpr (sizeof(T) == sizeof(double)) {
    const auto p0 = pair(0x1.5555555555559p-3, 0x1.5555555555559p-5);
    const auto p1 = pair(0x1.111111110f64ap-7, 0x1.6c16c16c147fbp-10);
    const auto p2 = pair(0x1.a01a01b00a5e6p-13, 0x1.a01a01b037d6cp-16);
    const auto p3 = pair(0x1.71ddf7f9a0efbp-19, 0x1.27e4c5f607e7bp-22);
    const auto p4 = pair(0x1.af5f5809de1aep-26, 0x1.1f958d6c5b81fp-29);
    const auto last = S::mul_add(S::mul_add(p4, r2, p3), r2, p2);
    return S::mul_add(last, S::mul(r2, r2), S::mul_add(p1, r2, p0));
  } else {
    const auto p1 = S::mul_add(r2, S::set(0x1.a29d16p-13f), pair(0x1.110fdcp-7f, 0x1.6d412cp-10f));
    return S::mul_add(p1, r2, pair(0x1.555556p-3f, 0x1.5554f2p-5f));
  }
}

// Holds the parts of exp(x) = 2^n (1 + exact + small), with no rounding error in `exact`. The low bits of
// `shifted` hold n, the bias of an exponent and `more`.
template <class S>
struct ExpParts {
  VectorOf<S> n, shifted, exact, small;
};
// Returns the parts of exp(x), or of exp(x + rest) with |rest| at most a few ulp of x. n is that of `near`,
// which is x or a number next to it.
template <class S, int more, class... Rest>
NLSQ_INLINE ExpParts<S> exp_parts(VectorOf<S> x, VectorOf<S> near, Rest... rest) {
  using T = typename S::Element;
  using C = WholeSteps<T>;
  const auto shift = S::set(C::shift + more), shifted = S::mul_add(near, S::set(C::per_step), shift);
  const auto n = S::sub(shifted, shift), exact = S::neg_mul_add(n, S::set(C::step), x);
  VectorOf<S> low;
  if constexpr (sizeof...(rest) == 1) low = S::neg_mul_add(n, S::set(C::step_rest), rest...);
  else low = S::mul(n, S::set(-C::step_rest));
  const auto r = S::add(exact, low), r2 = S::mul(r, r);
  const auto square = S::mul_add(r2, S::set(T(0.5)), low);
  return {n, shifted, exact, S::mul_add(expm1_polynomial<S>(r, r2), S::mul(r, r2), square)};
}
// Returns 2^(n + more), which must be a normal number.
template <class S>
NLSQ_INLINE VectorOf<S> power_of(const ExpParts<S>& e) {
  constexpr int places = ExpConstants<typename S::Element>::mantissa_bits;
  return S::from_bits(S::template shift_left<places>(S::bits(e.shifted)));
}

template <class S>
NLSQ_INLINE VectorOf<S> expm1(VectorOf<S> x) {
  using T = typename S::Element;
  using C = WholeSteps<T>;
  using V = VectorOf<S>;
  const V within = S::max(S::set(C::least), S::min(S::set(C::most), x));  // NaN remains NaN
  // All terms are halved, because 2^1024 is out of range. 1/2 is lost where 2^n is large. `lost` is the
  // rounding error of the first difference and the first sum.
  const V half = S::set(T(0.5));
  const ExpParts<S> e = exp_parts<S, -1>(within, within);
  const V power = power_of<S>(e), minus = S::sub(power, half);
  const V minus_rest = S::sub(S::sub(power, minus), half), large = S::mul_add(power, e.exact, minus);
  const V lost = S::mul_add(power, e.exact, S::add(S::sub(minus, large), minus_rest));
  const V sum = S::add(large, S::mul_add(power, e.small, lost));
  // Where x² is negligible, the result is x, which keeps the sign of zero and the last bit of subnormals.
  const V tiny = S::set(sizeof(T) == sizeof(double) ? T(0x1p-110) : T(0x1p-52));
  return S::choose(S::less(S::mul(within, within), tiny), x, S::add(sum, sum));
}

}  // namespace own
}  // namespace
}  // namespace nlsq::inline v0
