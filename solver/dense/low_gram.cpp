// Implements LowGram's products of narrowed columns.
#include "dense/low_gram.hpp"

#include "convert.hpp"
#include "kernels/kernel_table.hpp"

#include <algorithm>

namespace nlsq::inline v0 {

// J'r and r'r limit the accuracy of the result, J'J only the rate of convergence. So J may be rounded for
// J'J, but J'r and r'r use unrounded numbers.
void LowGram::add(const float* const* columns, std::size_t rows, double* sums, KernelCounters& counters) {
  if (form_ != Gram::f16) return multiply(columns, rows, sums, counters);
  product_of(round_to_f16(columns, rows), rows, counters);
  kernels().gradient_f32_wide(columns, n1_, rows, last_.data(), &counters);
  set_last_column();
  add_triangle(sums);
}

void LowGram::add(const double* const* columns, std::size_t rows, double* sums, KernelCounters& counters) {
  tile_.resize(static_cast<std::size_t>(n1_) * tile_rows_);
  tile_pointers_.resize(static_cast<std::size_t>(n1_));
  for (std::size_t j = 0; j < tile_pointers_.size(); ++j) {
    float* narrow = tile_.data() + j * tile_rows_;
    kernels().narrow(columns[j], narrow, rows);
    tile_pointers_[j] = narrow;
  }
  const float* const* low = tile_pointers_.data();
  product_of(form_ == Gram::f16 ? round_to_f16(low, rows) : low, rows, counters);
  kernels().gradient_f64(columns, n1_, rows, last_.data(), &counters);
  set_last_column();
  add_triangle(sums);
}

// Rounds J to f16 and back, column by column, each with its own power of two. r stays unchanged.
const float* const* LowGram::round_to_f16(const float* const* columns, std::size_t rows) {
  const auto n = static_cast<std::size_t>(n1_ - 1);
  rounded_.resize(n * tile_rows_);
  rounded_pointers_.assign(n + 1, columns[n]);
  for (std::size_t j = 0; j < n; ++j) {
    float* rounded = rounded_.data() + j * tile_rows_;
    std::copy_n(columns[j], rows, rounded);
    round_scaled_to(Format::f16, std::span(rounded, rows));
    rounded_pointers_[j] = rounded;
  }
  return rounded_pointers_.data();
}

// Computes the triangle of a tile's J. `set_last_column` sets the products with r.
void LowGram::product_of(const float* const* columns, std::size_t rows, KernelCounters& counters) {
  const auto n1 = static_cast<std::size_t>(n1_);
  triangle_.assign(n1 * (n1 + 1) / 2, 0.0);
  multiply(columns, rows, triangle_.data(), counters);
  last_.assign(n1, 0.0);
}

void LowGram::set_last_column() {
  for (std::size_t i = 0, k = last_.size() - 1; i < last_.size(); ++i, k += last_.size() - i)
    triangle_[k] = last_[i];
}

void LowGram::add_triangle(double* sums) const {
  for (std::size_t k = 0; k < triangle_.size(); ++k) sums[k] += triangle_[k];
}

void LowGram::multiply(const float* const* columns, std::size_t rows, double* sums,
                       KernelCounters& counters) {
  switch (form_) {
    case Gram::bf16: return kernels().gram_bf16(columns, n1_, rows, sums, &counters);
    case Gram::f16: {
      KernelCounters own;
      kernels().gram_f32(columns, n1_, rows, sums, &own);
      counters.gram_flops_f16 += own.gram_flops_f32;
      return;
    }
    case Gram::f32_tile: return kernels().gram_f32(columns, n1_, rows, sums, &counters);
    default: return kernels().gram_f32_wide(columns, n1_, rows, sums, &counters);
  }
}

std::size_t LowGram::bytes() const {
  return (rounded_.size() + tile_.size()) * sizeof(float) +
         (triangle_.size() + last_.size()) * sizeof(double);
}

}  // namespace nlsq::inline v0
