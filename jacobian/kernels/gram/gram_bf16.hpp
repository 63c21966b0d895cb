// What the Gram kernels in bf16 compute, one by intrinsics and one by any compiler, to the same bits.
//
// n1 columns, the last of them the residuals r. The n = n1 - 1 others are rounded to bf16 (to nearest,
// ties to even; below 2^-126 to zero) and multiplied pair by pair of rows as VDPBF16PS does:
//   c = fma(a0, b0, fma(a1, b1, c)),  a1 the odd row first, each result below 2^-126 flushed to zero,
// one chain for each entry of J'J over at most gram_bf16_rows rows, then added to the sums in f64.
// J'r and r'r limit the answer, not the rate: they use the unrounded columns, widened, in f64.
#pragma once

#include "kernels/gram/panel_buffer.hpp"

#include "kernels/kernel_table.hpp"

#include <cstdint>

namespace nlsq::inline v0 {
namespace {

// Rows between two flushes to f64, a multiple of 32: no tile is longer. A chain's relative error stays
// far below bf16's, and the columns of a panel stay in cache.
inline constexpr std::size_t gram_bf16_rows = 512;
// Columns of a panel: the lanes of a 512-bit vector of pairs.
inline constexpr std::size_t gram_bf16_panel = 16;
// J'r runs in as many f64 sums: row mod 8.
inline constexpr std::size_t gram_bf16_lanes = 8;

// Where row i of the packed upper triangle of n1 columns would have its column 0.
inline std::size_t gram_bf16_row(std::size_t i, std::size_t n1) { return i * n1 - i * (i + 1) / 2; }

// Multiplies and adds of J'J in bf16, of J'r and r'r in f64.
inline void count_gram_bf16(std::size_t n1, std::size_t rows, KernelCounters* counters) {
  counters->gram_flops_bf16 += n1 * (n1 - 1) * rows;
  counters->gram_flops_f32_wide += 2 * n1 * rows;
}

}  // namespace
}  // namespace nlsq::inline v0
