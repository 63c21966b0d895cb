// The bf16 Gram kernel for any instruction set; gram_bf16.hpp defines its result. Included by kernel.cpp
// only.
//
//  A product of two bf16 numbers has 16 bits, so a double holds it exactly. Rounding its sum with a float to
//  float gives the result of one fma: if the sum is not exact in double, the smaller term is more than 2^29
//  below the larger, and then neither is near a midpoint of floats.
#pragma once

#include "kernels/gram/gram_bf16.hpp"
#include "kernels/simd.hpp"

namespace nlsq::inline v0 {
namespace {

// x rounded to bf16, as a float.
NLSQ_INLINE float rounded_to_bf16(float x) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, x);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t nearest = (bits + 0x7fffu + (bits >> 16 & 1)) & 0xffff0000u;
  const std::uint32_t kept = magnitude > 0x7f800000u ? (bits | 0x400000u) & 0xffff0000u : nearest;
  return __builtin_bit_cast(float, magnitude < 0x00800000u ? bits & 0x80000000u : kept);
}

// Vectors of doubles; each lane has the value of a float.
using Bf16Sums = Simd<double>;
inline constexpr std::size_t bf16_groups =
    gram_bf16_panel / Bf16Sums::lanes;                      // vectors for the columns of a panel
inline constexpr std::size_t bf16_block = 8 / bf16_groups;  // rows of J'J in registers

NLSQ_INLINE Bf16Sums::V rounded_to_float(Bf16Sums::V v) {
#if defined(NLSQ_KERNEL_SET_baseline)
  // Converts whole vectors, because GCC 12 removes lane by lane conversions there and back.
  typedef float Narrow __attribute__((vector_size(8)));
  return __builtin_convertvector(__builtin_convertvector(v, Narrow), Bf16Sums::V);
#else
  return hn::PromoteTo(Bf16Sums::D(), hn::DemoteTo(hn::Rebind<float, Bf16Sums::D>(), v));
#endif
}

// fma(a, b, c) as in VDPBF16PS: a result that is tiny after rounding becomes zero; one that rounds up to
// 2^-126 does not.
NLSQ_INLINE Bf16Sums::V bf16_fma(Bf16Sums::V a, Bf16Sums::V b, Bf16Sums::V c) {
  using S = Bf16Sums;
  const S::V sum = S::add(S::mul(a, b), c);
  const S::M tiny = S::less(S::abs(sum), S::set(0x1p-126 - 0x1p-151));
  return rounded_to_float(S::choose(tiny, S::mul(sum, S::zero()), sum));
}

// Layout: panel q, pair p, row 2p + e of the pair, column j of the panel are at [q][p][e][j].
NLSQ_NOINLINE void pack_portable(const float* const* columns, std::size_t n, std::size_t first,
                                 std::size_t rows, float* packed) {
  const std::size_t pairs = (rows + 1) / 2, panels = (n + gram_bf16_panel - 1) / gram_bf16_panel;
  for (std::size_t q = 0; q < panels; ++q) {
    float* panel = packed + q * pairs * 2 * gram_bf16_panel;
    for (std::size_t j = 0; j < gram_bf16_panel; ++j) {
      const bool column = q * gram_bf16_panel + j < n;
      const float* from = column ? columns[q * gram_bf16_panel + j] + first : nullptr;
      for (std::size_t row = 0; row < 2 * pairs; ++row)
        panel[row * gram_bf16_panel + j] = column && row < rows ? rounded_to_bf16(from[row]) : 0.0f;
    }
  }
}

// Rows of J'J, whose first column in its panel is at a, times the columns of a panel.
NLSQ_NOINLINE void chains_portable(const float* a, const float* panel, std::size_t pairs,
                                   double (&sums)[bf16_block][gram_bf16_panel]) {
  using S = Bf16Sums;
  S::V c[bf16_block][bf16_groups];
#pragma GCC unroll 8
  for (std::size_t k = 0; k < bf16_block; ++k)
#pragma GCC unroll 8
    for (std::size_t g = 0; g < bf16_groups; ++g) c[k][g] = S::zero();
  for (std::size_t p = 0; p < pairs; ++p, a += 2 * gram_bf16_panel, panel += 2 * gram_bf16_panel) {
    S::V a0[bf16_block], a1[bf16_block];
#pragma GCC unroll 8
    for (std::size_t k = 0; k < bf16_block; ++k) {
      a0[k] = S::set(static_cast<double>(a[k]));
      a1[k] = S::set(static_cast<double>(a[gram_bf16_panel + k]));
    }
#pragma GCC unroll 8
    for (std::size_t g = 0; g < bf16_groups; ++g) {
      const S::V b0 = S::load_widened(panel + g * S::lanes);
      const S::V b1 = S::load_widened(panel + gram_bf16_panel + g * S::lanes);
#pragma GCC unroll 8
      for (std::size_t k = 0; k < bf16_block; ++k)
        c[k][g] = bf16_fma(a0[k], b0, bf16_fma(a1[k], b1, c[k][g]));
    }
  }
#pragma GCC unroll 8
  for (std::size_t k = 0; k < bf16_block; ++k)
#pragma GCC unroll 8
    for (std::size_t g = 0; g < bf16_groups; ++g) S::store(c[k][g], sums[k] + g * S::lanes);
}

// Product of a column with r; each product is exact in double.
NLSQ_NOINLINE double dot_portable(const float* column, const float* r, std::size_t rows) {
  double s[gram_bf16_lanes] = {};
  std::size_t row = 0;
  for (; row + gram_bf16_lanes <= rows; row += gram_bf16_lanes)
    for (std::size_t l = 0; l < gram_bf16_lanes; ++l)
      s[l] += static_cast<double>(column[row + l]) * static_cast<double>(r[row + l]);
  for (std::size_t l = 0; row + l < rows; ++l)
    s[l] += static_cast<double>(column[row + l]) * static_cast<double>(r[row + l]);
  for (std::size_t half = gram_bf16_lanes / 2; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) s[l] += s[l + half];
  return s[0];
}

void gram_bf16_block(const float* const* columns, std::size_t n1, std::size_t first, std::size_t rows,
                     float* packed, double* sums) {
  const std::size_t n = n1 - 1, pairs = (rows + 1) / 2, panel_size = pairs * 2 * gram_bf16_panel;
  pack_portable(columns, n, first, rows, packed);
  for (std::size_t i = 0; i < n; i += bf16_block) {
    const std::size_t own = i / gram_bf16_panel, end = i + bf16_block < n ? i + bf16_block : n;
    const float* a = packed + own * panel_size + i % gram_bf16_panel;
    for (std::size_t q = own; q * gram_bf16_panel < n; ++q) {
      double c[bf16_block][gram_bf16_panel];
      chains_portable(a, packed + q * panel_size, pairs, c);
      const std::size_t left = q * gram_bf16_panel,
                        right = left + gram_bf16_panel < n ? left + gram_bf16_panel : n;
      for (std::size_t k = i; k < end; ++k)
        for (std::size_t j = left > k ? left : k; j < right; ++j)
          sums[gram_bf16_row(k, n1) + j] += c[k - i][j - left];
    }
  }
  const float* r = columns[n] + first;
  for (std::size_t i = 0; i < n1; ++i)
    sums[gram_bf16_row(i, n1) + n] += dot_portable(columns[i] + first, r, rows);
}

void gram_bf16(const float* const* columns, int n1, std::size_t rows, double* sums,
               KernelCounters* counters) {
  thread_local PanelBuffer buffer;
  const auto width = static_cast<std::size_t>(n1);
  const std::size_t most = rows < gram_bf16_rows ? (rows + 1) / 2 * 2 : gram_bf16_rows;
  const std::size_t panels = (width - 1 + gram_bf16_panel - 1) / gram_bf16_panel;
  auto* packed = static_cast<float*>(buffer.bytes(panels * gram_bf16_panel * most * sizeof(float)));
  for (std::size_t first = 0; first < rows; first += gram_bf16_rows) {
    const std::size_t left = rows - first;
    gram_bf16_block(columns, width, first, left < gram_bf16_rows ? left : gram_bf16_rows, packed, sums);
  }
  count_gram_bf16(width, rows, counters);
}

}  // namespace
}  // namespace nlsq::inline v0
