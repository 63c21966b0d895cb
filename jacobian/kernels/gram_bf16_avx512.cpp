// The Gram kernel in bf16 by VDPBF16PS: see gram_bf16.hpp. Compiled with AVX512_BF16, used where cpuid
// shows it. Nothing but the entry is visible to the linker.
#include "gram_bf16.hpp"
#include "kernel_sets.hpp"
#include "transpose_avx512.hpp"

#include <immintrin.h>

#if defined(__GNUC__) && !defined(__clang__)
// GCC 12's own header leaves vectors undefined on purpose.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace nlsq::inline v0 {
namespace {

#define NLSQ_INLINE [[gnu::always_inline]] inline

// A panel holds 16 columns: [pair][column], both rows of the pair in the 32 bits of a lane.
constexpr std::size_t block = 8;  // rows of J'J in registers, against two panels

NLSQ_INLINE __mmask16 first_lanes(std::size_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xffffu : (1u << count) - 1u);
}

// 16 rows of a column from p on; where Whole is not, those before `left`, zeros beyond.
template <bool Whole>
NLSQ_INLINE __m512 load(const float* p, std::size_t left) {
  return Whole ? _mm512_loadu_ps(p) : _mm512_maskz_loadu_ps(first_lanes(left), p);
}

template <bool Whole>
NLSQ_INLINE __m512d load_widened(const float* p, std::size_t left) {
  const auto keep = static_cast<__mmask8>(first_lanes(left));
  return _mm512_cvtps_pd(Whole ? _mm256_loadu_ps(p) : _mm256_maskz_loadu_ps(keep, p));
}

// 32 rows of 16 columns, or of `count` columns and `left` rows, rounded and transposed into a panel.
template <bool Whole>
NLSQ_INLINE void pack_step(const float* const* columns, std::size_t count, std::size_t row, std::size_t left,
                           std::uint32_t* to) {
  __m512i v[16];
#pragma GCC unroll 16
  for (std::size_t j = 0; j < 16; ++j) {
    if (Whole || j < count) {
      const __m512 a = load<Whole>(columns[j] + row, left);
      const __m512 b = load<Whole>(columns[j] + row + 16, left > 16 ? left - 16 : 0);
      v[j] = (__m512i)_mm512_cvtne2ps_pbh(b, a);
    } else {
      v[j] = _mm512_setzero_si512();
    }
  }
  transpose(v);
#pragma GCC unroll 16
  for (std::size_t k = 0; k < 16; ++k) _mm512_store_si512(to + k * 16, v[k]);
}

// Rows [first, first + rows) of `count` columns as a panel; what is left of its 32 rows and 16 columns is zero.
[[gnu::noinline]] void pack(const float* const* columns, std::size_t count, std::size_t first,
                            std::size_t rows, std::uint32_t* panel) {
  std::size_t row = 0;
  if (count == 16)
    for (; row + 32 <= rows; row += 32) pack_step<true>(columns, 16, first + row, 32, panel + row / 2 * 16);
  for (; row < rows; row += 32)
    pack_step<false>(columns, count, first + row, rows - row, panel + row / 2 * 16);
}

NLSQ_INLINE __m512d low_half(__m512 c) { return _mm512_cvtps_pd(_mm512_castps512_ps256(c)); }
NLSQ_INLINE __m512d high_half(__m512 c) {
  return _mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(c), 1)));
}

// sums[0, 16) += c
NLSQ_INLINE void flush(__m512 c, double* sums) {
  _mm512_storeu_pd(sums, _mm512_add_pd(_mm512_loadu_pd(sums), low_half(c)));
  _mm512_storeu_pd(sums + 8, _mm512_add_pd(_mm512_loadu_pd(sums + 8), high_half(c)));
}

// The same in the lanes of `keep` alone.
NLSQ_INLINE void flush(__m512 c, double* sums, __mmask16 keep) {
  const auto low = static_cast<__mmask8>(keep), high = static_cast<__mmask8>(keep >> 8);
  _mm512_mask_storeu_pd(sums, low, _mm512_add_pd(_mm512_maskz_loadu_pd(low, sums), low_half(c)));
  _mm512_mask_storeu_pd(sums + 8, high, _mm512_add_pd(_mm512_maskz_loadu_pd(high, sums + 8), high_half(c)));
}

// Rows [i, i + block) of J'J against NJ panels from column j on. a: column i of its panel.
template <int NJ>
[[gnu::noinline]] void rectangle(const std::uint32_t* a, const std::uint32_t* b, std::size_t panel_size,
                                 std::size_t pairs, std::size_t i, std::size_t j, std::size_t n1,
                                 double* sums) {
  const std::size_t n = n1 - 1;
  const std::size_t height = n - i < block ? n - i : block;
  for (std::size_t k = 0; k < height; ++k) {
    const double* out = sums + gram_bf16_row(i + k, n1) + j;
#pragma GCC unroll 5
    for (int line = 0; line <= 2 * NJ; ++line) __builtin_prefetch(out + 8 * line, 1);
  }
  __m512 c[block][NJ];
#pragma GCC unroll 8
  for (std::size_t k = 0; k < block; ++k)
#pragma GCC unroll 2
    for (int q = 0; q < NJ; ++q) c[k][q] = _mm512_setzero_ps();
  for (std::size_t p = 0; p < pairs; ++p) {
    __m512bh y[NJ];
#pragma GCC unroll 2
    for (int q = 0; q < NJ; ++q)
      y[q] = (__m512bh)_mm512_load_si512(b + static_cast<std::size_t>(q) * panel_size + p * 16);
#pragma GCC unroll 8
    for (std::size_t k = 0; k < block; ++k) {
      const auto x = (__m512bh)_mm512_set1_epi32(static_cast<int>(a[p * 16 + k]));
#pragma GCC unroll 2
      for (int q = 0; q < NJ; ++q) c[k][q] = _mm512_dpbf16_ps(c[k][q], x, y[q]);
    }
  }
  double* out = sums + gram_bf16_row(i, n1) + j;
  if (height == block && j >= i + block - 1 && j + NJ * 16 <= n) {  // all of it belongs to the triangle
#pragma GCC unroll 8
    for (std::size_t k = 0; k < block; out += n1 - (i + ++k))
#pragma GCC unroll 2
      for (int q = 0; q < NJ; ++q) flush(c[k][q], out + q * 16);
    return;
  }
#pragma GCC unroll 8
  for (std::size_t k = 0; k < block; ++k) {
    if (k >= height) break;
#pragma GCC unroll 2
    for (int q = 0; q < NJ; ++q) {
      const std::size_t left = j + static_cast<std::size_t>(q) * 16;  // column of lane 0
      const __mmask16 below = i + k > left ? first_lanes(i + k - left) : __mmask16(0);
      const __mmask16 keep = first_lanes(n > left ? n - left : 0) & static_cast<__mmask16>(~below);
      flush(c[k][q], out + q * 16, keep);
    }
    out += n1 - (i + k + 1);
  }
}

// 16 rows of N columns times r into 16 sums each.
template <bool Whole, int N>
NLSQ_INLINE void dot_step(const float* const* columns, const float* r, std::size_t row, std::size_t left,
                          __m512d (&s)[N][2]) {
  const __m512d low = load_widened<Whole>(r + row, left);
  const __m512d high = load_widened<Whole>(r + row + 8, left > 8 ? left - 8 : 0);
#pragma GCC unroll 4
  for (int k = 0; k < N; ++k) {
    const float* x = columns[k] + row;
    s[k][0] = _mm512_fmadd_pd(load_widened<Whole>(x, left), low, s[k][0]);
    s[k][1] = _mm512_fmadd_pd(load_widened<Whole>(x + 8, left > 8 ? left - 8 : 0), high, s[k][1]);
  }
}

// Products of N columns with r, in f64: 16 sums each, as gram_bf16.hpp has them.
template <int N>
[[gnu::noinline]] void dots(const float* const* columns, const float* r, std::size_t first, std::size_t rows,
                            double* out) {
  __m512d s[N][2];
#pragma GCC unroll 4
  for (int k = 0; k < N; ++k) s[k][0] = s[k][1] = _mm512_setzero_pd();
  std::size_t row = 0;
  for (; row + 16 <= rows; row += 16) dot_step<true, N>(columns, r, first + row, 16, s);
  if (row < rows) dot_step<false, N>(columns, r, first + row, rows - row, s);
#pragma GCC unroll 4
  for (int k = 0; k < N; ++k) {
    const __m512d eight = _mm512_add_pd(s[k][0], s[k][1]);
    const __m256d four = _mm256_add_pd(_mm512_castpd512_pd256(eight), _mm512_extractf64x4_pd(eight, 1));
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    out[k] = _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
  }
}

// Columns [i, end) times r into their last sums.
void add_residual_products(const float* const* columns, std::size_t i, std::size_t end, std::size_t n1,
                           std::size_t first, std::size_t rows, double* sums) {
  const float* r = columns[n1 - 1];
  double products[4];
  for (; i + 4 <= end; i += 4) {
    dots<4>(columns + i, r, first, rows, products);
    for (std::size_t k = 0; k < 4; ++k) sums[gram_bf16_row(i + k, n1) + n1 - 1] += products[k];
  }
  for (; i < end; ++i) {
    dots<1>(columns + i, r, first, rows, products);
    sums[gram_bf16_row(i, n1) + n1 - 1] += products[0];
  }
}

void add_block(const float* const* columns, std::size_t n1, std::size_t first, std::size_t rows,
               std::uint32_t* packed, double* sums) {
  const std::size_t n = n1 - 1, pairs = (rows + 1) / 2, panel_size = (rows + 31) / 32 * 256;
  for (std::size_t j = 0; j < n; j += 16) {
    const std::size_t count = n - j < 16 ? n - j : 16;
    pack(columns + j, count, first, rows, packed + j / 16 * panel_size);
    add_residual_products(columns, j, j + count, n1, first, rows, sums);  // while the columns are in cache
  }
  add_residual_products(columns, n, n1, n1, first, rows, sums);
  for (std::size_t j = 0; j < n; j += 32) {
    const std::uint32_t* b = packed + j / 16 * panel_size;
    for (std::size_t i = 0; i < j + 32 && i < n; i += block) {
      const std::uint32_t* a = packed + i / 16 * panel_size + i % 16;
      if (i >= j + 16)
        rectangle<1>(a, b + panel_size, panel_size, pairs, i, j + 16, n1, sums);
      else if (j + 16 < n)
        rectangle<2>(a, b, panel_size, pairs, i, j, n1, sums);
      else
        rectangle<1>(a, b, panel_size, pairs, i, j, n1, sums);
    }
  }
}

}  // namespace

void gram_bf16_avx512(const float* const* columns, int n1, std::size_t rows, double* sums,
                      KernelCounters* counters) {
  thread_local PanelBuffer buffer;
  const auto width = static_cast<std::size_t>(n1);
  const std::size_t most = rows < gram_bf16_rows ? (rows + 31) / 32 * 32 : gram_bf16_rows;
  const std::size_t panels = (width - 1 + 15) / 16;
  auto* packed = static_cast<std::uint32_t*>(buffer.bytes(panels * 16 * most / 2 * sizeof(std::uint32_t)));
  for (std::size_t first = 0; first < rows; first += gram_bf16_rows) {
    const std::size_t left = rows - first;
    add_block(columns, width, first, left < gram_bf16_rows ? left : gram_bf16_rows, packed, sums);
  }
  count_gram_bf16(width, rows, counters);
}

}  // namespace nlsq::inline v0
