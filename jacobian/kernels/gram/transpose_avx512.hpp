// Transposes vectors in registers by AVX-512. The Gram kernels use it to pack columns.
#pragma once

#include <immintrin.h>

namespace nlsq::inline v0 {
namespace {

// Transposes 32-bit numbers within groups of four vectors: quarter q of v[4k + e] receives number 4q + e of
// each.
template <int N>
[[gnu::always_inline]] inline void transpose_quarters(__m512i (&v)[N]) {
  __m512i t[N];
#pragma GCC unroll 8
  for (int k = 0; k < N / 2; ++k) {
    t[2 * k] = _mm512_unpacklo_epi32(v[2 * k], v[2 * k + 1]);
    t[2 * k + 1] = _mm512_unpackhi_epi32(v[2 * k], v[2 * k + 1]);
  }
#pragma GCC unroll 4
  for (int k = 0; k < N / 4; ++k) {
    v[4 * k] = _mm512_unpacklo_epi64(t[4 * k], t[4 * k + 2]);
    v[4 * k + 1] = _mm512_unpackhi_epi64(t[4 * k], t[4 * k + 2]);
    v[4 * k + 2] = _mm512_unpacklo_epi64(t[4 * k + 1], t[4 * k + 3]);
    v[4 * k + 3] = _mm512_unpackhi_epi64(t[4 * k + 1], t[4 * k + 3]);
  }
}

// Transposes 16 x 16 numbers of 32 bits: first within quarters of a vector, then the quarters.
[[gnu::always_inline]] inline void transpose(__m512i (&v)[16]) {
  __m512i t[16];
  transpose_quarters(v);
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    t[k] = _mm512_shuffle_i32x4(v[k], v[k + 4], 0x88);
    t[k + 4] = _mm512_shuffle_i32x4(v[k], v[k + 4], 0xdd);
    t[k + 8] = _mm512_shuffle_i32x4(v[k + 8], v[k + 12], 0x88);
    t[k + 12] = _mm512_shuffle_i32x4(v[k + 8], v[k + 12], 0xdd);
  }
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) {
    v[k] = _mm512_shuffle_i32x4(t[k], t[k + 8], 0x88);
    v[k + 8] = _mm512_shuffle_i32x4(t[k], t[k + 8], 0xdd);
  }
}

// Transposes 8 x 8 doubles: pairs of columns, then quarters.
[[gnu::always_inline]] inline void transpose(__m512d (&v)[8]) {
  __m512d t[8];
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    t[2 * k] = _mm512_unpacklo_pd(v[2 * k], v[2 * k + 1]);
    t[2 * k + 1] = _mm512_unpackhi_pd(v[2 * k], v[2 * k + 1]);
  }
#pragma GCC unroll 2
  for (int odd = 0; odd < 2; ++odd) {
    const __m512d a = _mm512_shuffle_f64x2(t[odd], t[odd + 2], 0x88),
                  b = _mm512_shuffle_f64x2(t[odd + 4], t[odd + 6], 0x88);
    const __m512d c = _mm512_shuffle_f64x2(t[odd], t[odd + 2], 0xdd),
                  d = _mm512_shuffle_f64x2(t[odd + 4], t[odd + 6], 0xdd);
    v[odd] = _mm512_shuffle_f64x2(a, b, 0x88);
    v[odd + 2] = _mm512_shuffle_f64x2(c, d, 0x88);
    v[odd + 4] = _mm512_shuffle_f64x2(a, b, 0xdd);
    v[odd + 6] = _mm512_shuffle_f64x2(c, d, 0xdd);
  }
}

}  // namespace
}  // namespace nlsq::inline v0
