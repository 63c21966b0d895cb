// Computes erfc, inline, for every instruction set with a fused multiply-add.
//
//  Let y = |x|. Up to a bound near 1/2, erfc x = 1 - x - x q(x²), with the polynomial of erf. From there on,
//  erfc y = exp(-y²) P(t)/(y + a) with t = (y - a)/(y + a) = 1 - 2a/(y + a), and erfc(-y) = 2 - erfc y. The
//  variable t is that of Shepherd and Laframboise (Math. Comp. 36, 1981). P is a minimax fit (Remez) of
//  (y + a) exp(y²) erfc y. In double, the rounding errors of y², 1/(y + a), t, the last three sums of P and
//  the products are kept and added in the end. Floats are computed as doubles, without these errors.
#pragma once

#include "kernels/functions/own_erf.hpp"

namespace nlsq::inline v0 {
namespace {
namespace own {

// Holds the constants of P(t) = start + first t + second t² + u(t) t³, with `start` and `first` in two parts
// each. The low bits of the first part of `first` are zero, so that sums with it are exact.
struct ErfcConstants {
  static constexpr double bound = 0.5625, limit = 28, a = 4;  // beyond `limit` the result is 0
  static constexpr double start = 0x1.18932bf08e154p+0, start_rest = 0x1.143a98926ff52p-54;
  static constexpr double first = -0x1.f3fe31ecb49c0p-1, first_rest = 0x1.b3eabd0305601p-54;
  static constexpr double second = 0x1.8be202d26c6fdp-1;
};
// Returns u(t). The largest term is added last, so that the rounding of the others matters less.
template <class S>
NLSQ_INLINE VectorOf<S> erfc_polynomial(VectorOf<S> t) {
  const auto pair = [t](double a, double b)
                        NLSQ_INLINE_LAMBDA { return S::mul_add(t, S::set(b), S::set(a)); };
  const auto t2 = S::mul(t, t), t4 = S::mul(t2, t2), t8 = S::mul(t4, t4);
  const auto p0 = pair(0x1.52cac237105f6p-2, -0x1.645fd8a4bbf9bp-3);
  const auto p1 = pair(0x1.38dbd2c8c3c25p-4, -0x1.b00c052c2f93ap-6);
  const auto p2 = pair(0x1.908f473d822b0p-8, -0x1.269b525be896cp-12);
  const auto p3 = pair(-0x1.dd285134cfc08p-12, 0x1.72cdabcad0a18p-13);
  const auto p4 = pair(-0x1.e7cd44131088cp-19, -0x1.3c6f64975f839p-16);
  const auto p5 = pair(0x1.3ae0e7698eeecp-18, 0x1.7e64eb69b0206p-20);
  const auto p6 = pair(-0x1.c3d249ea387fbp-21, -0x1.46b101a46c9aep-24);
  const auto p7 = pair(0x1.fd9687faf79c1p-24, 0x1.658fd8da3d614p-30);
  const auto q0 = S::mul_add(p1, t2, p0), q1 = S::mul_add(p3, t2, p2), q2 = S::mul_add(p5, t2, p4);
  const auto q3 = S::mul_add(S::mul_add(t2, S::set(-0x1.970c8f99d6045p-27), p7), t2, p6);
  const auto p = S::mul_add(S::mul_add(q3, t4, q2), t8, S::mul_add(q1, t4, q0));
  return S::mul_add(t, p, S::set(-0x1.14eacb1ad0342p-1));
}
// Returns P'(t) to 10 %. That is enough, because only the rounding error of t is multiplied by it.
template <class S>
NLSQ_INLINE VectorOf<S> erfc_slope(VectorOf<S> t) {
  const auto p = S::mul_add(S::mul_add(t, S::set(1.488), S::set(-2.139)), t, S::set(1.571));
  return S::mul_add(p, t, S::set(-0.944));
}

template <class S>
NLSQ_INLINE VectorOf<S> erfc_f64(VectorOf<S> x) {
  using C = ErfcConstants;
  using V = VectorOf<S>;
  const V one = S::set(1), a = S::set(C::a), first = S::set(C::first), start = S::set(C::start);
  const V y = S::min(S::set(C::limit), S::abs(x));  // NaN remains NaN
  const V square = S::mul(y, y), square_rest = S::mul_sub(y, y, square);
  // 1/(y + a) = inverse (1 + error).
  const V sum = S::add(y, a), sum_rest = S::sub(S::min(y, a), S::sub(sum, S::max(y, a)));
  const V inverse = S::div(one, sum);
  const V error = S::neg_mul_add(inverse, sum_rest, S::neg_mul_add(inverse, sum, one));
  const V quotient = S::mul(inverse, S::set(2 * C::a)), t = S::sub(one, quotient);
  const V t_rest = S::neg_mul_add(quotient, error, S::sub(S::sub(one, t), quotient));
  const V u = erfc_polynomial<S>(t), second = S::set(C::second), later = S::mul_add(t, u, second);
  const V later_rest = S::mul_add(t, u, S::sub(second, later)), slope = S::mul_add(t, later, first);
  const V slope_rest =
      S::add(S::mul_add(t, later, S::sub(first, slope)), S::mul_add(t, later_rest, S::set(C::first_rest)));
  const V p = S::mul_add(t, slope, start);
  V p_rest = S::mul_add(t_rest, erfc_slope<S>(t), S::set(C::start_rest));
  p_rest = S::add(S::mul_add(t, slope, S::sub(start, p)), S::mul_add(t, slope_rest, p_rest));
  // exp(-y²) = 2^n (1 + exact + small). The product with p, its rest and 1 + error is 2^n (large + rest).
  const ExpParts<S> e = exp_parts<S, 1023>(S::neg(square), S::neg(square), S::neg(square_rest));
  const V large = S::mul_add(p, e.exact, p), lost = S::mul_add(p, e.exact, S::sub(p, large));
  const V fraction = S::add(e.exact, e.small), small = S::add(e.small, S::mul_add(error, fraction, error));
  const V rest = S::mul_add(p, small, S::add(lost, S::mul_add(fraction, p_rest, p_rest)));
  const V whole = S::add(large, rest), whole_rest = S::sub(rest, S::sub(whole, large));
  const V product = S::mul(whole, inverse);
  const V product_rest = S::mul_add(whole_rest, inverse, S::mul_sub(whole, inverse, product));
  V n = e.n;
  if constexpr (S::avx512) n = S::choose(S::less(n, S::set(-1100)), S::set(-8192), n);  // as in exp
  const V far = times_power_of_two<S>(S::add(product, product_rest), n, e.shifted);
  // 1 - x - x q, with the error of the first difference.
  const V difference = S::sub(one, x), difference_rest = S::sub(S::sub(one, difference), x);
  const V near = S::add(difference, S::neg_mul_add(x, erf_polynomial_f64<S>(square), difference_rest));
  return S::choose(S::less(y, S::set(C::bound)), near, S::choose_negative(x, S::sub(S::set(2), far), far));
}

// Returns erfc of doubles with the accuracy of floats.
template <class S>
NLSQ_INLINE VectorOf<S> rough_erfc(VectorOf<S> x) {
  using C = WholeSteps<double>;
  using V = VectorOf<S>;
  const V one = S::set(1), y = S::min(S::set(10.2), S::abs(x)), square = S::mul(y, y);
  const V shifted = S::neg_mul_add(square, S::set(C::per_step), S::set(C::shift));
  const V r = S::neg_mul_add(S::sub(shifted, S::set(C::shift)), S::set(C::step), S::neg(square));
  const V power = S::from_bits(S::template shift_left<52>(S::bits(shifted)));
  const auto pair = [](V v, double a, double b)
                        NLSQ_INLINE_LAMBDA { return S::mul_add(v, S::set(b), S::set(a)); };
  const V r2 = S::mul(r, r), e0 = pair(r, 0x1.00000043125b4p-1, 0x1.55555597f6ba2p-3);
  const V e1 = pair(r, 0x1.55548003ef5aep-5, 0x1.11107d08e8698p-7);
  const V e2 = pair(r, 0x1.6d96cff38fd92p-10, 0x1.a1b7dda0e7a00p-13);
  const V fraction = S::mul_add(S::mul_add(S::mul_add(e2, r2, e1), r2, e0), r2, r);  // exp(r) - 1
  const V inverse = S::div(one, S::add(y, S::set(3))), t = S::neg_mul_add(S::set(6), inverse, one);
  const V t2 = S::mul(t, t), p0 = pair(t, 0x1.12f21de1c55fdp+0, -0x1.c44c47760b371p-1);
  const V p1 = pair(t, 0x1.2e326511100cep-1, -0x1.3deaffae21188p-2);
  const V p2 = pair(t, 0x1.e998cd472c351p-4, -0x1.b7a2273a7a03fp-6);
  const V p3 = pair(t, -0x1.43a0c57673929p-10, 0x1.90b22ba5ca11cp-9);
  const V p4 = pair(t, -0x1.ec9953cb965bep-12, -0x1.374c6da71c779p-12);
  const V high = S::mul_add(S::mul_add(p4, t2, p3), t2, p2);
  const V p = S::mul_add(S::mul_add(high, t2, p1), t2, p0), scaled = S::mul(S::mul(p, inverse), power);
  const V far = S::mul_add(scaled, fraction, scaled);
  const V q = S::mul_add(square, pair(square, -0x1.b667d7a55a2edp-6, 0x1.355343f6a03a9p-8),
                         S::set(0x1.ce2521caeea1bp-4));
  const V q0 = pair(square, 0x1.06eba7eedfd96p-3, -0x1.812732d93f204p-2);
  const V near = S::sub(one, S::mul_add(x, S::mul_add(q, S::mul(square, square), q0), x));
  return S::choose(S::less(y, S::set(0.5)), near, S::choose_negative(x, S::sub(S::set(2), far), far));
}

template <class S>
NLSQ_INLINE VectorOf<S> erfc(VectorOf<S> x) {
  if constexpr (sizeof(typename S::Element) == sizeof(double)) {
    return erfc_f64<S>(x);
  } else {
    using W = typename S::Wide;
    return S::narrow(rough_erfc<W>(S::widen_first(x)), rough_erfc<W>(S::widen_second(x)));
  }
}

}  // namespace own
}  // namespace
}  // namespace nlsq::inline v0
