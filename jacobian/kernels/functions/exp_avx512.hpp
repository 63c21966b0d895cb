// exp for AVX-512, inline so that consecutive vectors overlap. It is the most frequent function of models.
//
//  Double: x = n ln2/16 + r, exp(x) = 2^(n/16) exp(r), |r| <= ln2/32. The sixteen powers 2^(j/16) are kept in
//  registers, in two parts, and permuted by the low bits of n (Tang, ACM TOMS 15, 1989). Float: x = n ln2 + r
//  without a table. The polynomials are Chebyshev fits of (exp(r) - 1 - r) / r². scalef rounds once into
//  subnormals and overflows to infinity. The error is at most 1 ulp; the tests of the elementary functions
//  check it.
#pragma once

#include "kernels/simd.hpp"

#include <immintrin.h>

namespace nlsq::inline v0 {
namespace {
namespace avx512 {

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

NLSQ_INLINE __m512d lookup(const double (&table)[16], __m512i index) {
  return _mm512_permutex2var_pd(_mm512_load_pd(table), index, _mm512_load_pd(table + 8));
}

// exp(x), or exp(x + rest) with |rest| at most a few ulp of x.
template <class... Rest>
NLSQ_INLINE __m512d exp(__m512d x, Rest... rest) {
  const auto set = [](double v) { return _mm512_set1_pd(v); };
  // Limits x beyond the range of results. min and max return their second argument if one is NaN.
  x = _mm512_max_pd(set(-1000), _mm512_min_pd(set(1000), x));
  const __m512d shift = set(0x1.8p52);  // adding it rounds to an integer in the low bits
  const __m512d shifted = _mm512_fmadd_pd(x, set(23.083120654223414), shift);
  const __m512d n = _mm512_sub_pd(shifted, shift);
  __m512d r = _mm512_fnmadd_pd(n, set(0x1.62e42fefa39efp-5), x);
  r = _mm512_fnmadd_pd(n, set(0x1.abc9e3b39803fp-60), r);
  if constexpr (sizeof...(rest) == 1) r = _mm512_add_pd(r, rest...);
  const __m512d r2 = _mm512_mul_pd(r, r);
  __m512d low, high;
  if constexpr (sizeof...(rest) == 0) {
    low = _mm512_fmadd_pd(r, set(0.16666666665296222739), set(0.5));
    high = _mm512_fmadd_pd(r, set(0.0013889034639665864761), set(0.0083334499341071853523));
    high = _mm512_fmadd_pd(r, high, set(0.041666666664953614554));
  } else {  // one power more: an error of 0.02 ulp instead of 0.25
    low = _mm512_fmadd_pd(r, set(0x1.5555555555556p-3), set(0.5));
    high = _mm512_fmadd_pd(r, set(0x1.a01b0c3c80bbcp-13), set(0x1.6c17ed5c1f49ep-10));
    high = _mm512_fmadd_pd(r, high, set(0x1.11111110e1059p-7));
    high = _mm512_fmadd_pd(r, high, set(0x1.55555554e93b7p-5));
  }
  const __m512d p = _mm512_fmadd_pd(_mm512_fmadd_pd(high, r2, low), r2, r);  // exp(r) - 1
  const __m512i index = _mm512_castpd_si512(shifted);
  const __m512d power = lookup(power_of_two, index), power_rest = lookup(power_of_two_rest, index);
  const __m512d result = _mm512_add_pd(power, _mm512_fmadd_pd(power, p, power_rest));
  return _mm512_scalef_pd(result, _mm512_mul_pd(n, set(0.0625)));  // scales by the floor of n/16
}

NLSQ_INLINE __m512 exp(__m512 x) {
  const auto set = [](float v) { return _mm512_set1_ps(v); };
  x = _mm512_max_ps(set(-200), _mm512_min_ps(set(200), x));
  const __m512 shift = set(0x1.8p23f);
  const __m512 n = _mm512_sub_ps(_mm512_fmadd_ps(x, set(1.4426950216293335f), shift), shift);
  __m512 r = _mm512_fnmadd_ps(n, set(0x1.62e43p-1f), x);
  r = _mm512_fnmadd_ps(n, set(-0x1.05c61p-29f), r);
  const __m512 r2 = _mm512_mul_ps(r, r);
  __m512 p = _mm512_fmadd_ps(r, set(0.000198909808698f), set(0.0013933641032f));
  p = _mm512_fmadd_ps(r, p, set(0.00833331093445f));
  p = _mm512_fmadd_ps(r, p, set(0.041666465006f));
  p = _mm512_fmadd_ps(r, p, set(0.166666666816f));
  p = _mm512_fmadd_ps(r, p, set(0.500000001346f));
  p = _mm512_fmadd_ps(p, r2, r);
  return _mm512_scalef_ps(_mm512_add_ps(p, set(1)), n);
}

}  // namespace avx512
}  // namespace
}  // namespace nlsq::inline v0
