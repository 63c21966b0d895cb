// Computes bf16 Gram matrices for a set without bf16 instructions. J is rounded to bf16 and multiplied as
// gram_f32 does. A product of two bf16 numbers has 16 bits, so a float holds it exactly; only the sums round.
// Only kernel.cpp includes this file.
#pragma once

#include "kernels/gram/gram.hpp"
#include "kernels/gram/gram_bf16.hpp"

namespace nlsq::inline v0 {
namespace {

// Rounds to bf16, to nearest and ties to even. Numbers below 2^-126 become zero. NaN stays as it is, because
// adding to its bits could carry into the sign.
NLSQ_NOINLINE void round_to_bf16(const float* from, float* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, from[i]);
    const std::uint32_t nearest = (bits + 0x7fffu + (bits >> 16 & 1)) & 0xffff0000u;
    const auto magnitude = static_cast<std::int32_t>(bits & 0x7fffffffu);
    const std::uint32_t normal = magnitude < 0x00800000 ? bits & 0x80000000u : nearest;
    to[i] = __builtin_bit_cast(float, magnitude > 0x7f800000 ? bits : normal);
  }
}

// The products with the last column, which gram_f32 forms in f32, are replaced by those of gram_f32_wide.
void gram_bf16(const float* const* columns, int n1, std::size_t rows, double* sums,
               KernelCounters* counters) {
  thread_local PanelBuffer buffer;
  const auto width = static_cast<std::size_t>(n1);
  const std::size_t most = rows < gram_bf16_rows ? (rows + 63) / 64 * 64 : gram_bf16_rows;
  auto* rounded = static_cast<float*>(
      buffer.bytes(width * (most * sizeof(float) + 2 * sizeof(const float*) + sizeof(double))));
  auto* last = reinterpret_cast<double*>(rounded + width * most);
  auto** low = reinterpret_cast<const float**>(last + width);
  auto** here = low + width;
  for (std::size_t i = 0; i < width; ++i) last[i] = sums[gram_bf16_row(i, width) + width - 1];
  for (std::size_t first = 0; first < rows; first += gram_bf16_rows) {
    const std::size_t some = rows - first < gram_bf16_rows ? rows - first : gram_bf16_rows;
    for (std::size_t i = 0; i < width; ++i) here[i] = low[i] = columns[i] + first;
    for (std::size_t i = 0; i + 1 < width; ++i) {
      round_to_bf16(here[i], rounded + i * most, some);
      low[i] = rounded + i * most;
    }
    gram_of<GramFloat, float>(low, n1, some, sums);
    gradient<GramWidened>(here, n1, some, last);
  }
  for (std::size_t i = 0; i < width; ++i) sums[gram_bf16_row(i, width) + width - 1] = last[i];
  count_gram_bf16(width, rows, counters);
}

}  // namespace
}  // namespace nlsq::inline v0
