// Computes log and pow, inline, for every instruction set with a fused multiply-add. Both use one logarithm
// in two parts, because the derivative of x^b needs log x as well.
//
//  In double, x = 2^k z with 0.734 <= z < 1.469. c is one of sixteen points near z, and 1 if z is near 1. log
//  x = k ln2 - log(1/c) + log(1 + s), 1 + s = z/c, |s| <= 1/32 (Tang, ACM TOMS 16, 1990). The first two terms
//  have zeros in their low bits and add without rounding; s and s²/2 are added with their rounding errors
//  kept separately (Dekker's sums). The remaining (log(1 + s) - s + s²/2)/s³ is a Chebyshev fit. The total
//  error is 2^-64 of the logarithm. pow multiplies both parts by the exponent; the small part goes into exp's
//  polynomial. Floats are computed in double by the same method, with one part and an error of 2^-37.
//
// The functions are valid for finite exponents and for x that is positive, not infinite and, in double, not
// subnormal. Other lanes need another function. The error is at most 1 ulp; the tests of the elementary
// functions check it.
#pragma once

#include "kernels/functions/own_exp.hpp"

#include <cstdint>

namespace nlsq::inline v0 {
namespace {
namespace own {

// The tables hold 1/c, rounded, and minus its logarithm: a multiple of 2^-42, and the remainder.
alignas(64) constexpr double reciprocal[16] = {
    0x1.0000000000000p+0, 0x1.e1e1e1e1e1e1ep-1, 0x1.c71c71c71c71cp-1, 0x1.af286bca1af28p-1,
    0x1.999999999999ap-1, 0x1.8618618618618p-1, 0x1.745d1745d1746p-1, 0x1.642c8590b2164p-1,
    0x1.5555555555555p+0, 0x1.47ae147ae147bp+0, 0x1.3b13b13b13b14p+0, 0x1.2f684bda12f68p+0,
    0x1.2492492492492p+0, 0x1.1a7b9611a7b96p+0, 0x1.1111111111111p+0, 0x1.0842108421084p+0};
alignas(64) constexpr double logarithm[16] = {0x0.0p+0,
                                              0x1.f0a30c0118000p-5,
                                              0x1.e27076e2b0000p-4,
                                              0x1.5ff3070a7a000p-3,
                                              0x1.c8ff7c79aa000p-3,
                                              0x1.1675cababa000p-2,
                                              0x1.4618bc21c6000p-2,
                                              0x1.739d7f6bbd000p-2,
                                              -0x1.269621134e000p-2,
                                              -0x1.f991c6cb3c000p-3,
                                              -0x1.a93ed3c8ae000p-3,
                                              -0x1.5bf406b544000p-3,
                                              -0x1.1178e8227e000p-3,
                                              -0x1.9335e5d594000p-4,
                                              -0x1.08598b59e4000p-4,
                                              -0x1.0415d89e78000p-5};
alignas(64) constexpr double logarithm_rest[16] = {0x0.0p+0,
                                                   -0x1.d579e83368e91p-45,
                                                   -0x1.a2c2c2af0003cp-45,
                                                   -0x1.8546f183bebf2p-44,
                                                   -0x1.7814f689f8434p-45,
                                                   0x1.83c0e731f55c4p-44,
                                                   -0x1.3e02f484c84ccp-46,
                                                   0x1.c7389314feb50p-52,
                                                   0x1.1ba1f10522625p-44,
                                                   0x1.90b84cd7cc834p-44,
                                                   0x1.86a4350562169p-45,
                                                   0x1.28023eb68981cp-46,
                                                   -0x1.1e778ce2d07f2p-45,
                                                   -0x1.30f5c3abd47dap-45,
                                                   0x1.7e9dd7009902cp-46,
                                                   0x1.ddfc7f461c516p-44};

// Holds the parts of x = 2^k z. The low four bits of `index` are the number of the point near z.
template <class S>
struct Scaled {
  VectorOf<S> k, z;
  BitsOf<S> index;
};
template <class S>
NLSQ_INLINE Scaled<S> scaled(VectorOf<S> x) {
  const auto set = [](std::uint64_t v) NLSQ_INLINE_LAMBDA { return S::set_bits(v); };
  // Subtracts the bits of 0.734375, the least z. The exponent of the difference is k.
  const auto bits = S::bits(x), difference = S::sub_bits(bits, set(0x3fe7800000000000));
  const auto z = S::sub_bits(bits, S::and_bits(difference, set(0xfff0000000000000)));
  // k + 1024 is positive. As the low bits of 2^52 it becomes a double.
  const auto biased = S::template shift_right<52>(S::add_bits(difference, set(0x4000000000000000)));
  const auto k = S::sub(S::from_bits(S::or_bits(biased, set(0x4330000000000000))), S::set(0x1p52 + 1024));
  const auto index = S::template shift_right<48>(S::add_bits(z, set(0x0000800000000000)));
  return {k, S::from_bits(z), index};
}

// Holds the logarithm as the sum high + low, with |low| <= 2^-10 |high|.
template <class S>
struct LogF64 {
  VectorOf<S> high, low;
};
template <class S>
NLSQ_INLINE LogF64<S> log_parts_f64(VectorOf<S> x) {
  const auto set = [](double v) NLSQ_INLINE_LAMBDA { return S::set(v); };
  const Scaled<S> is = scaled<S>(x);
  const auto c = lookup<S>(reciprocal, is.index);
  const auto product = S::mul(is.z, c), product_rest = S::mul_sub(is.z, c, product);
  const auto s = S::sub(product, set(1));
  const auto square = S::mul(s, s), square_rest = S::mul_sub(s, s, square);
  // These are the large terms, s and s²/2 without rounding, and the errors of their sums.
  const auto large = S::mul_add(is.k, set(0x1.62e42fefa3800p-1), lookup<S>(logarithm, is.index));
  const auto sum = S::add(large, s), sum_rest = S::sub(s, S::sub(sum, large));
  const auto high = S::neg_mul_add(set(0.5), square, sum);
  const auto high_rest = S::neg_mul_add(set(0.5), square, S::sub(sum, high));
  // log(1 + s + e) = log(1 + s) + e (1 - s + s²), with the rounding error e of the product.
  const auto turned = S::mul_add(product_rest, S::sub(square, s), product_rest);
  auto low = S::mul_add(is.k, set(0x1.ef35793c76730p-45), lookup<S>(logarithm_rest, is.index));
  low = S::add(low, S::neg_mul_add(set(0.5), square_rest, turned));
  low = S::add(low, S::add(sum_rest, high_rest));
  // The cubic term is added separately, so that the rounding of the others matters less.
  const auto fourth = S::mul(square, square);
  const auto pair = [s](double a, double b)
                        NLSQ_INLINE_LAMBDA { return S::mul_add(s, S::set(b), S::set(a)); };
  const auto p0 = pair(-0x1.fffffffffffb7p-3, 0x1.999999999a4d3p-3);
  const auto p1 = pair(-0x1.5555555658ba0p-3, 0x1.2492491333e65p-3);
  const auto p2 = pair(-0x1.ffffe0ccc02cap-4, 0x1.c71d77b56c96cp-4);
  const auto p3 = pair(-0x1.9a4c1ad85f540p-4, 0x1.723e37e20bcb3p-4);
  const auto p = S::mul_add(S::mul_add(p3, square, p2), fourth, S::mul_add(p1, square, p0));
  low = S::mul_add(fourth, p, low);
  return {high, S::mul_add(S::mul(s, square), set(0x1.5555555555555p-2), low)};
}

template <class S>
NLSQ_INLINE VectorOf<S> log(LogF64<S> x) {
  return S::add(x.high, x.low);
}

template <class S>
NLSQ_INLINE VectorOf<S> pow(LogF64<S> x, VectorOf<S> y) {
  const auto high = S::add(x.high, x.low), low = S::sub(x.low, S::sub(high, x.high));
  const auto product = S::mul(y, high);
  const auto rest = S::mul_add(y, low, S::mul_sub(y, high, product));
  // Beyond exp's range the rounding error of the product may be NaN.
  const auto within = S::less(S::abs(product), S::set(1000));
  return exp<S>(product, S::choose(within, rest, S::zero()));
}

// These are the logarithm and the exponential of doubles with the accuracy of floats.
template <class S>
NLSQ_INLINE VectorOf<S> rough_log(VectorOf<S> x) {
  const Scaled<S> is = scaled<S>(x);
  const auto s = S::mul_sub(is.z, lookup<S>(reciprocal, is.index), S::set(1));
  const auto large = S::mul_add(is.k, S::set(0x1.62e42fefa39efp-1), lookup<S>(logarithm, is.index));
  const auto square = S::mul(s, s);
  const auto p0 = S::mul_add(s, S::set(0.33333329591907257), S::set(-0.49999999996592426));
  const auto p1 = S::mul_add(s, S::set(0.20016323032350355), S::set(-0.2500004115684831));
  const auto later = S::mul_add(square, S::set(-0.16616504103502366), p1);
  return S::add(large, S::mul_add(S::mul_add(square, later, p0), square, s));
}

template <class S>
NLSQ_INLINE VectorOf<S> rough_exp(VectorOf<S> x) {
  using C = ExpStepsOf<S>;
  x = S::max(S::set(-200), S::min(S::set(200), x));  // the range of floats
  const auto shifted = S::mul_add(x, S::set(C::per_step), S::set(C::shift));
  const auto n = S::sub(shifted, S::set(C::shift));
  const auto r = S::neg_mul_add(n, S::set(C::step), x), r2 = S::mul(r, r);
  if constexpr (S::avx512) {
    auto p = S::mul_add(r, S::set(0.04166715550957197), S::set(0.16666959973024334));
    p = S::mul_add(S::mul_add(r, p, S::set(0.5)), r2, r);
    const auto power = lookup<S>(power_of_two, S::bits(shifted));
    return times_power_of_two<S>(S::mul_add(power, p, power), S::mul(n, S::set(0.0625)), shifted);
  } else {
    const auto pair = [r](double a, double b)
                          NLSQ_INLINE_LAMBDA { return S::mul_add(r, S::set(b), S::set(a)); };
    const auto last =
        S::mul_add(r2, S::set(0x1.a1132015ba37ep-16), pair(0x1.6c16858b7acb9p-10, 0x1.a15179d80ae96p-13));
    const auto middle = S::mul_add(r2, last, pair(0x1.5555555c87148p-5, 0x1.1110c632a3088p-7));
    const auto p = S::mul_add(r2, middle, pair(0.5, 0x1.55555567532adp-3));
    return times_power_of_two<S>(S::add(S::set(1), S::mul_add(r2, p, r)), n, shifted);
  }
}

// A vector of floats is computed as two vectors of doubles.
template <class S>
struct LogF32 {
  VectorOf<typename S::Wide> first, second;
};
template <class S>
NLSQ_INLINE LogF32<S> log_parts_f32(VectorOf<S> x) {
  using W = typename S::Wide;
  return {rough_log<W>(S::widen_first(x)), rough_log<W>(S::widen_second(x))};
}
template <class S>
NLSQ_INLINE VectorOf<S> log(LogF32<S> x) {
  return S::narrow(x.first, x.second);
}
template <class S>
NLSQ_INLINE VectorOf<S> pow(LogF32<S> x, VectorOf<S> y) {
  using W = typename S::Wide;
  return S::narrow(rough_exp<W>(W::mul(S::widen_first(y), x.first)),
                   rough_exp<W>(W::mul(S::widen_second(y), x.second)));
}

// Returns the lanes for which these functions are valid. Others need other functions.
template <class S>
NLSQ_INLINE typename S::M has_log(VectorOf<S> x) {
  using T = typename S::Element;
  const T least = static_cast<T>(sizeof(T) == sizeof(double) ? __DBL_MIN__ : __FLT_DENORM_MIN__);
  const T most = static_cast<T>(sizeof(T) == sizeof(double) ? __DBL_MAX__ : __FLT_MAX__);
  return S::mask_and(S::less_equal(S::set(least), x), S::less_equal(x, S::set(most)));
}
template <class S>
NLSQ_INLINE typename S::M has_pow(VectorOf<S> x, VectorOf<S> y) {
  using T = typename S::Element;
  const T most = static_cast<T>(sizeof(T) == sizeof(double) ? __DBL_MAX__ : __FLT_MAX__);
  return S::mask_and(has_log<S>(x), S::less_equal(S::abs(y), S::set(most)));
}

template <class S>
NLSQ_INLINE auto log_parts(VectorOf<S> x) {
  if constexpr (sizeof(typename S::Element) == sizeof(double)) return log_parts_f64<S>(x);
  else return log_parts_f32<S>(x);
}

}  // namespace own
}  // namespace
}  // namespace nlsq::inline v0
