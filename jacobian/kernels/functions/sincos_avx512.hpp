// sin and cos for AVX-512, inline, both from one reduction, because derivatives need both.
//
//  x = n pi/2 + r + rest, |r| <= pi/4 (Cody and Waite; pi/2 in three parts). The first product is subtracted
//  exactly: both numbers are multiples of ulp(pi/2), and the difference is below 1. The rounding errors of
//  the second product, and of its difference (Knuth's TwoSum), go into `rest`. Polynomials in r² are
//  Chebyshev fits of (sin r - r)/r³ and (cos r - 1 + r²/2)/r⁴. Valid for |x| <= sincos_limit; lanes beyond it
//  and NaN need another function.
#pragma once

#include "kernels/simd.hpp"

#include <immintrin.h>

namespace nlsq::inline v0 {
namespace {
namespace avx512 {

struct SinCosF64 {
  __m512d sine, cosine;
};
struct SinCosF32 {
  __m512 sine, cosine;
};
inline constexpr double sincos_limit = 1e6;
inline constexpr float sincos_limit_f32 = 1e4f;

NLSQ_INLINE SinCosF64 sincos(__m512d x) {
  const auto set = [](double v) { return _mm512_set1_pd(v); };
  const __m512d shift = set(0x1.8p52);  // adding it rounds to an integer in the low bits
  const __m512d shifted = _mm512_fmadd_pd(x, set(0x1.45f306dc9c883p-1), shift);
  const __m512d n = _mm512_sub_pd(shifted, shift);
  const __m512d first = _mm512_fnmadd_pd(n, set(0x1.921fb54442d18p+0), x);
  const __m512d second = _mm512_mul_pd(n, set(0x1.1a62633145c07p-54));
  const __m512d r = _mm512_sub_pd(first, second), taken = _mm512_sub_pd(r, first);
  const __m512d lost =
      _mm512_sub_pd(_mm512_sub_pd(first, _mm512_sub_pd(r, taken)), _mm512_add_pd(second, taken));
  __m512d rest = _mm512_sub_pd(lost, _mm512_fmsub_pd(n, set(0x1.1a62633145c07p-54), second));
  rest = _mm512_fnmadd_pd(n, set(-0x1.f1976b7ed8fbcp-110), rest);
  const __m512d z = _mm512_mul_pd(r, r), half_z = _mm512_mul_pd(z, set(0.5)), z2 = _mm512_mul_pd(z, z);
  // Even and odd powers are summed separately, for shorter dependency chains.
  const __m512d s0 = _mm512_fmadd_pd(z, set(0x1.1111111110bafp-7), set(-0x1.5555555555555p-3));
  const __m512d s1 = _mm512_fmadd_pd(z, set(0x1.71de37957ce9cp-19), set(-0x1.a01a019e82d4dp-13));
  const __m512d s2 = _mm512_fmadd_pd(z, set(0x1.5e0ab7608d182p-33), set(-0x1.ae6009eea5af6p-26));
  const __m512d s = _mm512_fmadd_pd(_mm512_fmadd_pd(s2, z2, s1), z2, s0);
  const __m512d c0 = _mm512_fmadd_pd(z, set(-0x1.6c16c16c16966p-10), set(0x1.5555555555555p-5));
  const __m512d c1 = _mm512_fmadd_pd(z, set(-0x1.27e4fa177b63cp-22), set(0x1.a01a019f4e69bp-16));
  const __m512d c2 = _mm512_fmadd_pd(z, set(-0x1.907d58f39ba23p-37), set(0x1.1eeb68842d4e4p-29));
  const __m512d c = _mm512_fmadd_pd(_mm512_fmadd_pd(c2, z2, c1), z2, c0);
  // sin(r + rest) = r + (r³ s + rest (1 - z/2)); cos = w + ((1 - w - z/2) + (z² c - r rest)), w = 1 - z/2.
  const __m512d turned = _mm512_fnmadd_pd(half_z, rest, rest);
  const __m512d sine = _mm512_add_pd(r, _mm512_fmadd_pd(_mm512_mul_pd(r, z), s, turned));
  const __m512d w = _mm512_sub_pd(set(1), half_z);
  const __m512d low = _mm512_fnmadd_pd(r, rest, _mm512_sub_pd(_mm512_sub_pd(set(1), w), half_z));
  const __m512d cosine = _mm512_add_pd(w, _mm512_fmadd_pd(z2, c, low));
  const __m512i quadrant = _mm512_castpd_si512(shifted);
  const __mmask8 odd = _mm512_test_epi64_mask(quadrant, _mm512_set1_epi64(1));
  const __m512i sign = _mm512_set1_epi64(static_cast<long long>(0x8000000000000000ULL));
  const __m512i sine_sign = _mm512_and_si512(_mm512_slli_epi64(quadrant, 62), sign);
  const __m512i next = _mm512_add_epi64(quadrant, _mm512_set1_epi64(1));
  const __m512i cosine_sign = _mm512_and_si512(_mm512_slli_epi64(next, 62), sign);
  const __m512d first_one = _mm512_mask_mov_pd(sine, odd, cosine),
                second_one = _mm512_mask_mov_pd(cosine, odd, sine);
  const __m512d signed_sine =
      _mm512_castsi512_pd(_mm512_xor_si512(_mm512_castpd_si512(first_one), sine_sign));
  const __mmask8 zero = _mm512_cmp_pd_mask(x, _mm512_setzero_pd(), _CMP_EQ_OQ);  // a zero keeps its sign
  return {_mm512_mask_mov_pd(signed_sine, zero, x),
          _mm512_castsi512_pd(_mm512_xor_si512(_mm512_castpd_si512(second_one), cosine_sign))};
}

NLSQ_INLINE SinCosF32 sincos(__m512 x) {
  const auto set = [](float v) { return _mm512_set1_ps(v); };
  const __m512 shift = set(0x1.8p23f);
  const __m512 shifted = _mm512_fmadd_ps(x, set(0x1.45f306p-1f), shift);
  const __m512 n = _mm512_sub_ps(shifted, shift);
  const __m512 first = _mm512_fnmadd_ps(n, set(0x1.921fb6p+0f), x);
  const __m512 second = _mm512_mul_ps(n, set(-0x1.777a5cp-25f));
  const __m512 r = _mm512_sub_ps(first, second), taken = _mm512_sub_ps(r, first);
  const __m512 lost =
      _mm512_sub_ps(_mm512_sub_ps(first, _mm512_sub_ps(r, taken)), _mm512_add_ps(second, taken));
  __m512 rest = _mm512_sub_ps(lost, _mm512_fmsub_ps(n, set(-0x1.777a5cp-25f), second));
  rest = _mm512_fnmadd_ps(n, set(-0x1.ee59dap-50f), rest);
  const __m512 z = _mm512_mul_ps(r, r), half_z = _mm512_mul_ps(z, set(0.5f)), z2 = _mm512_mul_ps(z, z);
  const __m512 s0 = _mm512_fmadd_ps(z, set(0.008333331905305386f), set(-0.1666666716337204f));
  const __m512 s1 = _mm512_fmadd_ps(z, set(2.7249773211224237e-06f), set(-0.00019840085587929934f));
  const __m512 s = _mm512_fmadd_ps(s1, z2, s0);
  __m512 c = _mm512_fmadd_ps(z, set(2.4547816792619415e-05f), set(-0.001388830249197781f));
  c = _mm512_fmadd_ps(z, c, set(0.0416666641831398f));
  const __m512 turned = _mm512_fnmadd_ps(half_z, rest, rest);
  const __m512 sine = _mm512_add_ps(r, _mm512_fmadd_ps(_mm512_mul_ps(r, z), s, turned));
  const __m512 w = _mm512_sub_ps(set(1), half_z);
  const __m512 low = _mm512_fnmadd_ps(r, rest, _mm512_sub_ps(_mm512_sub_ps(set(1), w), half_z));
  const __m512 cosine = _mm512_add_ps(w, _mm512_fmadd_ps(z2, c, low));
  const __m512i quadrant = _mm512_castps_si512(shifted);
  const __mmask16 odd = _mm512_test_epi32_mask(quadrant, _mm512_set1_epi32(1));
  const __m512i sign = _mm512_set1_epi32(static_cast<int>(0x80000000U));
  const __m512i sine_sign = _mm512_and_si512(_mm512_slli_epi32(quadrant, 30), sign);
  const __m512i next = _mm512_add_epi32(quadrant, _mm512_set1_epi32(1));
  const __m512i cosine_sign = _mm512_and_si512(_mm512_slli_epi32(next, 30), sign);
  const __m512 first_one = _mm512_mask_mov_ps(sine, odd, cosine),
               second_one = _mm512_mask_mov_ps(cosine, odd, sine);
  const __m512 signed_sine = _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(first_one), sine_sign));
  const __mmask16 zero = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_EQ_OQ);
  return {_mm512_mask_mov_ps(signed_sine, zero, x),
          _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(second_one), cosine_sign))};
}

}  // namespace avx512
}  // namespace
}  // namespace nlsq::inline v0
