// Contains the code that all bf16 Gram kernels share. gram_bf16_avx512.cpp uses VDPBF16PS, gram_bf16_amx.cpp
// uses TDPBF16PS (which it describes), and gram_bf16_rounded.hpp serves every set without either.
//
//  There are n1 columns, the last of them the residuals r. The n = n1 - 1 others are rounded to bf16 (to
//  nearest, ties to even; below 2^-126 to zero). The instruction VDPBF16PS multiplies pairs of rows:
//    c = fma(a0, b0, fma(a1, b1, c)),  a1 (the odd row) first, each result below 2^-126 flushed to zero.
//  Each entry of J'J has one such chain, or those of the tiles, over at most gram_bf16_rows rows, which is
//  then added to the sums in f64. Without the instruction, gram_f32 multiplies and adds the rounded numbers.
//  J'r and r'r limit the accuracy of the answer and cost little, so they use the unrounded columns in f64.
#pragma once

#include "kernels/gram/panel_buffer.hpp"

#include "kernels/kernel_table.hpp"

#include <cstdint>

namespace nlsq::inline v0 {
namespace {

// This is the number of rows between two additions to the f64 sums. It is a multiple of 32, and no tile is
// longer. The relative error of a chain stays far below that of bf16, and the columns of a panel stay in
// cache.
inline constexpr std::size_t gram_bf16_rows = 512;

// Returns the position that column 0 of row i would have in the packed upper triangle of n1 columns.
inline std::size_t gram_bf16_row(std::size_t i, std::size_t n1) { return i * n1 - i * (i + 1) / 2; }

// Counts the multiplies and adds of J'J in bf16, and those of J'r and r'r in f64.
inline void count_gram_bf16(std::size_t n1, std::size_t rows, KernelCounters* counters) {
  counters->gram_flops_bf16 += n1 * (n1 - 1) * rows;
  counters->gram_flops_f32_wide += 2 * n1 * rows;
}

}  // namespace
}  // namespace nlsq::inline v0
