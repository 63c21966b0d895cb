// log and pow for AVX-512, inline. Both use one logarithm in two parts, because the derivative of x^b needs
// log x as well.
//
//  Double: x = 2^k z, 0.734 <= z < 1.469. c is one of sixteen points near z, and 1 if z is near 1.
//  log x = k ln2 - log(1/c) + log(1 + s), 1 + s = z/c, |s| <= 1/32 (Tang, ACM TOMS 16, 1990). The first two
//  terms have zeros in their low bits and add without rounding; s and s²/2 are added with their rounding
//  errors kept separately (Dekker's sums). The remaining (log(1 + s) - s + s²/2)/s³ is a Chebyshev fit. The
//  total error is 2^-64 of the logarithm. pow multiplies both parts by the exponent; the small part goes into
//  exp's polynomial. Float: the same in double, in one part, to 2^-37.
//
//  Valid for finite exponents and for x that is positive, not infinite and, in double, not subnormal; other
//  lanes need another function. The error is at most 1 ulp; the tests of the elementary functions check it.
#pragma once

#include "kernels/functions/exp_avx512.hpp"

namespace nlsq::inline v0 {
namespace {
namespace avx512 {

// 1/c, rounded, and minus its logarithm: a multiple of 2^-42, and the remainder.
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

// x = 2^k z; the low four bits hold the number of the point near z.
struct Scaled {
  __m512d k, z;
  __m512i index;
};
NLSQ_INLINE Scaled scaled(__m512d x) {
  const __m512i bits = _mm512_castpd_si512(x), least = _mm512_set1_epi64(0x3fe7800000000000);  // 0.734375
  const __m512i k = _mm512_srai_epi64(_mm512_sub_epi64(bits, least), 52);
  const __m512i z = _mm512_sub_epi64(bits, _mm512_slli_epi64(k, 52));
  const __m512i half_a_step = _mm512_set1_epi64(1LL << 47);
  return {_mm512_cvtepi64_pd(k), _mm512_castsi512_pd(z),
          _mm512_srli_epi64(_mm512_add_epi64(z, half_a_step), 48)};
}

// high + low is the logarithm; |low| <= 2^-10 |high|.
struct LogF64 {
  __m512d high, low;
};
NLSQ_INLINE LogF64 log_parts(__m512d x) {
  const auto set = [](double v) { return _mm512_set1_pd(v); };
  const Scaled is = scaled(x);
  const __m512d c = lookup(reciprocal, is.index);
  const __m512d product = _mm512_mul_pd(is.z, c), product_rest = _mm512_fmsub_pd(is.z, c, product);
  const __m512d s = _mm512_sub_pd(product, set(1));
  const __m512d square = _mm512_mul_pd(s, s), square_rest = _mm512_fmsub_pd(s, s, square);
  // The parts without rounding: the large terms, s and s²/2, with the errors of their sums.
  const __m512d large = _mm512_fmadd_pd(is.k, set(0x1.62e42fefa3800p-1), lookup(logarithm, is.index));
  const __m512d sum = _mm512_add_pd(large, s), sum_rest = _mm512_sub_pd(s, _mm512_sub_pd(sum, large));
  const __m512d high = _mm512_fnmadd_pd(set(0.5), square, sum);
  const __m512d high_rest = _mm512_fnmadd_pd(set(0.5), square, _mm512_sub_pd(sum, high));
  // log(1 + s + e) = log(1 + s) + e (1 - s + s²), with the rounding error e of the product.
  const __m512d turned = _mm512_fmadd_pd(product_rest, _mm512_sub_pd(square, s), product_rest);
  __m512d low = _mm512_fmadd_pd(is.k, set(0x1.ef35793c76730p-45), lookup(logarithm_rest, is.index));
  low = _mm512_add_pd(low, _mm512_fnmadd_pd(set(0.5), square_rest, turned));
  low = _mm512_add_pd(low, _mm512_add_pd(sum_rest, high_rest));
  // The cubic term is added separately, so that the rounding of the others matters less.
  const __m512d fourth = _mm512_mul_pd(square, square);
  const __m512d p0 = _mm512_fmadd_pd(s, set(0x1.999999999a4d3p-3), set(-0x1.fffffffffffb7p-3));
  const __m512d p1 = _mm512_fmadd_pd(s, set(0x1.2492491333e65p-3), set(-0x1.5555555658ba0p-3));
  const __m512d p2 = _mm512_fmadd_pd(s, set(0x1.c71d77b56c96cp-4), set(-0x1.ffffe0ccc02cap-4));
  const __m512d p3 = _mm512_fmadd_pd(s, set(0x1.723e37e20bcb3p-4), set(-0x1.9a4c1ad85f540p-4));
  const __m512d p = _mm512_fmadd_pd(_mm512_fmadd_pd(p3, square, p2), fourth, _mm512_fmadd_pd(p1, square, p0));
  low = _mm512_fmadd_pd(fourth, p, low);
  return {high, _mm512_fmadd_pd(_mm512_mul_pd(s, square), set(0x1.5555555555555p-2), low)};
}

NLSQ_INLINE __m512d log(LogF64 x) { return _mm512_add_pd(x.high, x.low); }

NLSQ_INLINE __m512d pow(LogF64 x, __m512d y) {
  const __m512d high = _mm512_add_pd(x.high, x.low), low = _mm512_sub_pd(x.low, _mm512_sub_pd(high, x.high));
  const __m512d product = _mm512_mul_pd(y, high);
  const __m512d rest = _mm512_fmadd_pd(y, low, _mm512_fmsub_pd(y, high, product));
  // Beyond exp's range the rounding error of the product may be NaN.
  const __mmask8 within = _mm512_cmp_pd_mask(_mm512_abs_pd(product), _mm512_set1_pd(1000), _CMP_LT_OQ);
  return exp(product, _mm512_maskz_mov_pd(within, rest));
}

// Sixteen floats as doubles.
struct Halves {
  __m512d first, second;
};
NLSQ_INLINE Halves widened(__m512 x) {
  return {_mm512_cvtps_pd(_mm512_castps512_ps256(x)), _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1))};
}
NLSQ_INLINE __m512 narrowed(__m512d first, __m512d second) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(first)), _mm512_cvtpd_ps(second), 1);
}

NLSQ_INLINE __m512d rough_log(__m512d x) {
  const auto set = [](double v) { return _mm512_set1_pd(v); };
  const Scaled is = scaled(x);
  const __m512d s = _mm512_fmsub_pd(is.z, lookup(reciprocal, is.index), set(1));
  const __m512d large = _mm512_fmadd_pd(is.k, set(0x1.62e42fefa39efp-1), lookup(logarithm, is.index));
  const __m512d square = _mm512_mul_pd(s, s);
  const __m512d p0 = _mm512_fmadd_pd(s, set(0.33333329591907257), set(-0.49999999996592426));
  const __m512d p1 = _mm512_fmadd_pd(s, set(0.20016323032350355), set(-0.2500004115684831));
  const __m512d later = _mm512_fmadd_pd(square, set(-0.16616504103502366), p1);
  const __m512d p = _mm512_fmadd_pd(square, later, p0);
  return _mm512_add_pd(large, _mm512_fmadd_pd(p, square, s));
}

NLSQ_INLINE __m512d rough_exp(__m512d x) {
  const auto set = [](double v) { return _mm512_set1_pd(v); };
  x = _mm512_max_pd(set(-200), _mm512_min_pd(set(200), x));  // the range of floats
  const __m512d shift = set(0x1.8p52), shifted = _mm512_fmadd_pd(x, set(23.083120654223414), shift);
  const __m512d n = _mm512_sub_pd(shifted, shift), r = _mm512_fnmadd_pd(n, set(0x1.62e42fefa39efp-5), x);
  __m512d p = _mm512_fmadd_pd(r, set(0.04166715550957197), set(0.16666959973024334));
  p = _mm512_fmadd_pd(r, p, set(0.5));
  p = _mm512_fmadd_pd(_mm512_mul_pd(r, r), p, r);
  const __m512d power = lookup(power_of_two, _mm512_castpd_si512(shifted));
  return _mm512_scalef_pd(_mm512_fmadd_pd(power, p, power), _mm512_mul_pd(n, set(0.0625)));
}

struct LogF32 {
  __m512d first, second;
};
NLSQ_INLINE LogF32 log_parts(__m512 x) {
  const Halves wide = widened(x);
  return {rough_log(wide.first), rough_log(wide.second)};
}
NLSQ_INLINE __m512 log(LogF32 x) { return narrowed(x.first, x.second); }
NLSQ_INLINE __m512 pow(LogF32 x, __m512 y) {
  const Halves wide = widened(y);
  return narrowed(rough_exp(_mm512_mul_pd(wide.first, x.first)),
                  rough_exp(_mm512_mul_pd(wide.second, x.second)));
}

}  // namespace avx512
}  // namespace
}  // namespace nlsq::inline v0
