// Rounds columns to bf16 and packs them for the kernels that multiply them by CPU instructions, and adds
// their sums in f32 to those in f64. The files that are compiled with AVX512_BF16 include it.
#pragma once

#include "kernels/gram/gram_bf16.hpp"
#include "kernels/gram/transpose_avx512.hpp"

#include <immintrin.h>

#if defined(__GNUC__) && !defined(__clang__)
// GCC 12's own header leaves vectors undefined on purpose.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace nlsq::inline v0 {
namespace {

#define NLSQ_INLINE [[gnu::always_inline]] inline

NLSQ_INLINE __mmask16 first_lanes(std::size_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xffffu : (1u << count) - 1u);
}

// A panel holds 16 columns as [pair][column]; each 32-bit lane holds both rows of a pair.

// Transposes 8 columns of 32 bf16 numbers, 16 pairs each, into 8 columns of a panel.
NLSQ_INLINE void transpose_into(__m512i (&v)[8], std::uint32_t* to) {
  const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11),
                second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  transpose_quarters(v);
  const auto store = [to](int pair, __m256i columns) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + pair * 16), columns);
  };
#pragma GCC unroll 4
  for (int e = 0; e < 4; ++e) {
    const __m512i a = _mm512_permutex2var_epi64(v[e], first, v[e + 4]),
                  b = _mm512_permutex2var_epi64(v[e], second, v[e + 4]);
    store(e, _mm512_castsi512_si256(a));
    store(e + 4, _mm512_extracti64x4_epi64(a, 1));
    store(e + 8, _mm512_castsi512_si256(b));
    store(e + 12, _mm512_extracti64x4_epi64(b, 1));
  }
}

// Adds, for 32 rows of 8 columns, their products with r to 8 sums each, and rounds the columns into a panel.
// With Plain, it also stores the rounded columns as they are, each as 64 bytes at `plain`.
template <bool Plain>
NLSQ_INLINE void pack_step(const float* const (&columns)[8], std::size_t row, const double* r,
                           __m256d (&sums)[8][2], std::uint32_t* to, std::uint32_t* plain) {
  __m512i v[8];
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) {
    const float* c = columns[k] + row;
    v[k] = (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(c + 16), _mm512_loadu_ps(c));
#pragma GCC unroll 8
    for (int q = 0; q < 8; ++q)  // half of the possible width, because conversions then take half the time
      sums[k][q % 2] = _mm256_fmadd_pd(_mm256_cvtps_pd(_mm_loadu_ps(c + 4 * q)), _mm256_load_pd(r + 4 * q),
                                       sums[k][q % 2]);
    if constexpr (Plain) _mm512_store_si512(plain + k * 16, v[k]);
  }
  transpose_into(v, to);
}

NLSQ_INLINE double sum(__m256d four) {
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

// Packs all rows of 8 columns. They are padded with zeros to a multiple of 32, like r.
template <bool Plain>
[[gnu::noinline]] void pack(const float* const (&columns)[8], std::size_t rows, const double* r,
                            std::uint32_t* panel, std::uint32_t* plain, double (&products)[8]) {
  __m256d sums[8][2];
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) sums[k][0] = sums[k][1] = _mm256_setzero_pd();
  std::size_t row = 0;
  const auto step = [&](const float* const(&from)[8], std::size_t at) {
    const std::size_t offset = row / 2 * 16;
    pack_step<Plain>(from, at, r + row, sums, panel + offset, Plain ? plain + offset : nullptr);
  };
  for (; row + 32 <= rows; row += 32) step(columns, row);
  if (row < rows) {
    alignas(64) float left[8][32] = {};
    const float* of_left[8];
    for (int k = 0; k < 8; ++k) {
      of_left[k] = left[k];
      for (std::size_t i = row; i < rows; ++i) left[k][i - row] = columns[k][i];
    }
    step(of_left, 0);
  }
  for (int k = 0; k < 8; ++k) products[k] = sum(_mm256_add_pd(sums[k][0], sums[k][1]));
}

NLSQ_INLINE __m512d low_half(__m512 c) { return _mm512_cvtps_pd(_mm512_castps512_ps256(c)); }
NLSQ_INLINE __m512d high_half(__m512 c) {
  return _mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(c), 1)));
}

// Adds c to sums[0, 16).
NLSQ_INLINE void flush(__m512 c, double* sums) {
  _mm512_storeu_pd(sums, _mm512_add_pd(_mm512_loadu_pd(sums), low_half(c)));
  _mm512_storeu_pd(sums + 8, _mm512_add_pd(_mm512_loadu_pd(sums + 8), high_half(c)));
}

// Adds only the lanes in `keep`.
NLSQ_INLINE void flush(__m512 c, double* sums, __mmask16 keep) {
  const auto low = static_cast<__mmask8>(keep), high = static_cast<__mmask8>(keep >> 8);
  _mm512_mask_storeu_pd(sums, low, _mm512_add_pd(_mm512_maskz_loadu_pd(low, sums), low_half(c)));
  _mm512_mask_storeu_pd(sums + 8, high, _mm512_add_pd(_mm512_maskz_loadu_pd(high, sums + 8), high_half(c)));
}

// Returns which of 16 entries of row i of J'J, from column j on, are in the triangle of n columns.
NLSQ_INLINE __mmask16 lanes_of_triangle(std::size_t i, std::size_t j, std::size_t n) {
  const __mmask16 below = i > j ? first_lanes(i - j) : __mmask16(0);
  return static_cast<__mmask16>(first_lanes(n > j ? n - j : 0) & ~below);
}

// Packs columns [j, j + 16) into their panel, and adds their products with r to their last sums. With Plain,
// `plain` receives the rounded columns, too: for every 32 rows 16 columns of 64 bytes, as long as the panel.
template <bool Plain>
void pack_panel(const float* const* columns, std::size_t j, std::size_t n1, std::size_t first,
                std::size_t rows, const double* r, std::uint32_t* panel, std::uint32_t* plain, double* sums) {
  const std::size_t n = n1 - 1;
  for (std::size_t half = 0; half < 16; half += 8) {
    const float* c[8];
    double products[8];
    // Lanes beyond the last column repeat it; their products are unused.
    for (std::size_t k = 0; k < 8; ++k) c[k] = columns[j + half + k < n ? j + half + k : n - 1] + first;
    pack<Plain>(c, rows, r, panel + half, Plain ? plain + half * 16 : nullptr, products);
    for (std::size_t k = 0; k < 8 && j + half + k < n; ++k)
      sums[gram_bf16_row(j + half + k, n1) + n] += products[k];
  }
}

// Widens r and pads it with zeros to a multiple of 32. Returns its squared norm.
double widen_residuals(const float* from, std::size_t rows, double* r) {
  __m256d squares[2] = {_mm256_setzero_pd(), _mm256_setzero_pd()};
  for (std::size_t i = 0; i < (rows + 31) / 32 * 32; ++i) r[i] = i < rows ? static_cast<double>(from[i]) : 0;
  for (std::size_t i = 0; i < rows; i += 8) {
    for (std::size_t q = 0; q < 2; ++q) {
      const __m256d x = _mm256_load_pd(r + i + 4 * q);
      squares[q] = _mm256_fmadd_pd(x, x, squares[q]);
    }
  }
  return sum(_mm256_add_pd(squares[0], squares[1]));
}

}  // namespace
}  // namespace nlsq::inline v0
