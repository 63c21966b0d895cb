// Computes bf16 Gram matrices by the instruction VDPBF16PS. gram_bf16.hpp defines the result. This file is
// compiled with AVX512_BF16, and the kernel is used if cpuid reports it. The linker sees only the entry
// point.
#include "kernels/gram/gram_bf16_panels.hpp"
#include "kernels/kernel_sets.hpp"

namespace nlsq::inline v0 {
namespace {

constexpr std::size_t block = 8;   // rows of J'J in registers
constexpr std::size_t across = 2;  // number of panels that they are multiplied with

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
      flush(c[k][q], out + q * 16, lanes_of_triangle(i + k, left, n));
    }
    out += n1 - (i + k + 1);
  }
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
      pack_panel<false>(columns, k, n1, first, rows, r, packed + k / 16 * panel_size, nullptr, sums);
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
