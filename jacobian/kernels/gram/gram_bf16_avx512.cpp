// Computes bf16 Gram matrices by the instruction VDPBF16PS. gram_bf16.hpp defines the result. This file is
// compiled with AVX512_BF16, and the kernel is used if cpuid reports it. The linker sees only the entry
// point.
#include "kernels/gram/gram_bf16.hpp"
#include "kernels/gram/transpose_avx512.hpp"
#include "kernels/kernel_sets.hpp"

#include <immintrin.h>

#if defined(__GNUC__) && !defined(__clang__)
// GCC 12's own header leaves vectors undefined on purpose.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace nlsq::inline v0 {
namespace {

#define NLSQ_INLINE [[gnu::always_inline]] inline

// A panel holds 16 columns as [pair][column]; each 32-bit lane holds both rows of a pair.
constexpr std::size_t block = 8;   // rows of J'J in registers
constexpr std::size_t across = 2;  // number of panels that they are multiplied with

NLSQ_INLINE __mmask16 first_lanes(std::size_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xffffu : (1u << count) - 1u);
}

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
NLSQ_INLINE void pack_step(const float* const (&columns)[8], std::size_t row, const double* r,
                           __m256d (&sums)[8][2], std::uint32_t* to) {
  __m512i v[8];
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) {
    const float* c = columns[k] + row;
    v[k] = (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(c + 16), _mm512_loadu_ps(c));
#pragma GCC unroll 8
    for (int q = 0; q < 8; ++q)  // half of the possible width, because conversions then take half the time
      sums[k][q % 2] = _mm256_fmadd_pd(_mm256_cvtps_pd(_mm_loadu_ps(c + 4 * q)), _mm256_load_pd(r + 4 * q),
                                       sums[k][q % 2]);
  }
  transpose_into(v, to);
}

NLSQ_INLINE double sum(__m256d four) {
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

// Packs all rows of 8 columns. They are padded with zeros to a multiple of 32, like r.
[[gnu::noinline]] void pack(const float* const (&columns)[8], std::size_t rows, const double* r,
                            std::uint32_t* panel, double (&products)[8]) {
  __m256d sums[8][2];
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) sums[k][0] = sums[k][1] = _mm256_setzero_pd();
  std::size_t row = 0;
  for (; row + 32 <= rows; row += 32) pack_step(columns, row, r + row, sums, panel + row / 2 * 16);
  if (row < rows) {
    alignas(64) float left[8][32] = {};
    const float* of_left[8];
    for (int k = 0; k < 8; ++k) {
      of_left[k] = left[k];
      for (std::size_t i = row; i < rows; ++i) left[k][i - row] = columns[k][i];
    }
    pack_step(of_left, 0, r + row, sums, panel + row / 2 * 16);
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

// Prefetches the columns that are packed next while other columns are multiplied.
class Next {
 public:
  // Prefetches part of the `left` columns in each of `times` calls.
  Next(const float* const* columns, std::size_t left, std::size_t first, std::size_t times)
      : columns_(columns), left_(left < 16 * across ? left : 16 * across), first_(first),
        at_once_((left_ + times - 1) / times) {}
  // Prefetches the cache line with the rows of pair p, for the columns of this call.
  NLSQ_INLINE void fetch(std::size_t p) const {
    for (std::size_t k = 0; k < at_once_; ++k) __builtin_prefetch(columns_[k] + first_ + 2 * p);
  }
  void advance() {
    columns_ += at_once_;
    left_ -= at_once_;
    if (at_once_ > left_) at_once_ = left_;
  }

 private:
  const float* const* columns_;
  std::size_t left_, first_, at_once_;
};

// Computes rows [i, i + block) of J'J times NJ panels from column j on. `a` points at column i in its panel.
template <int NJ>
[[gnu::noinline]] void rectangle(const std::uint32_t* a, const std::uint32_t* b, std::size_t panel_size,
                                 std::size_t pairs, std::size_t i, std::size_t j, std::size_t n1,
                                 const Next& next, double* sums) {
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
  for (std::size_t p = 0; p < pairs;) {
    next.fetch(p);
    for (const std::size_t end = pairs - p < 8 ? pairs : p + 8; p < end; ++p) {
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
  }
  double* out = sums + gram_bf16_row(i, n1) + j;
  if (height == block && j >= i + block - 1 && j + NJ * 16 <= n) {  // all of it is in the triangle
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

// Packs columns [j, j + 16) into their panel, and adds their products with r to their last sums.
void pack_panel(const float* const* columns, std::size_t j, std::size_t n1, std::size_t first,
                std::size_t rows, const double* r, std::uint32_t* panel, double* sums) {
  const std::size_t n = n1 - 1;
  for (std::size_t half = 0; half < 16; half += 8) {
    const float* c[8];
    double products[8];
    // Lanes beyond the last column repeat it; their products are unused.
    for (std::size_t k = 0; k < 8; ++k) c[k] = columns[j + half + k < n ? j + half + k : n - 1] + first;
    pack(c, rows, r, panel + half, products);
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

// Packs some panels at a time, then multiplies them with all columns up to them.
void add_block(const float* const* columns, std::size_t n1, std::size_t first, std::size_t rows,
               std::uint32_t* packed, double* sums) {
  const std::size_t n = n1 - 1, pairs = (rows + 1) / 2, panel_size = (rows + 31) / 32 * 256;
  alignas(64) double r[gram_bf16_rows];
  sums[gram_bf16_row(n, n1) + n] += widen_residuals(columns[n] + first, rows, r);
  for (std::size_t j = 0, end; j < n; j = end) {
    end = n - j < 16 * across ? n : j + 16 * across;
    for (std::size_t k = j; k < end; k += 16)
      pack_panel(columns, k, n1, first, rows, r, packed + k / 16 * panel_size, sums);
    Next next(columns + end, n - end, first, (end + block - 1) / block);
    for (std::size_t i = 0; i < end; i += block, next.advance()) {
      // Skips panels that are entirely below the triangle.
      const std::size_t from = i > j ? i / 16 * 16 : j;
      const std::uint32_t *a = packed + i / 16 * panel_size + i % 16, *b = packed + from / 16 * panel_size;
      if (end - from <= 16) rectangle<1>(a, b, panel_size, pairs, i, from, n1, next, sums);
      else rectangle<across>(a, b, panel_size, pairs, i, from, n1, next, sums);
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
