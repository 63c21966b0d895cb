// What kernels did, counted by the kernels themselves. A part of every summary.
#pragma once

#include <cstdint>

namespace nlsq::inline v0 {

// Each kernel increments its own counter: a report of precision that no kernel
// confirms does not exist. Rows are rows of one tile program; flops count multiply and add as two.
struct KernelCounters {
  std::uint64_t rows_f64 = 0, rows_f32 = 0;
  std::uint64_t gram_flops_f64 = 0;       // f64 products, f64 sums
  std::uint64_t gram_flops_f32 = 0;       // f32 products and sums in a tile, flushed to f64
  std::uint64_t gram_flops_f32_wide = 0;  // f32 values, f64 products and sums
  std::uint64_t gram_flops_f16 = 0;       // values rounded to f16, f32 sums, flushed to f64
  std::uint64_t gram_flops_bf16 = 0;      // values rounded to bf16, f32 sums, flushed to f64
  std::uint64_t qr_flops_f64 = 0;
  void add(const KernelCounters& other);
};

}  // namespace nlsq::inline v0
