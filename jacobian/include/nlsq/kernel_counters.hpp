// Counts the work of kernels. Each kernel increments the counters itself, and every summary contains them.
#pragma once

#include <cstdint>

namespace nlsq::inline v0 {

// Each kernel has its own counter, so a report of precision states only what was executed. A row is one row
// of one tile program; a multiply and an add count as two flops.
struct KernelCounters {
  std::uint64_t rows_f64 = 0, rows_f32 = 0;
  std::uint64_t gram_flops_f64 = 0;       // f64 products, f64 sums
  std::uint64_t gram_flops_f32 = 0;       // f32 products and sums within a tile, added to f64 sums
  std::uint64_t gram_flops_f32_wide = 0;  // f32 values, f64 products and sums
  std::uint64_t gram_flops_f16 = 0;       // values rounded to f16, f32 sums, added to f64 sums
  std::uint64_t gram_flops_bf16 = 0;      // values rounded to bf16, f32 sums, added to f64 sums
  std::uint64_t qr_flops_f64 = 0;
  void add(const KernelCounters& other);
  KernelCounters since(const KernelCounters& before) const;  // the work after `before`
};

}  // namespace nlsq::inline v0
