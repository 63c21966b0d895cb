// LowGram computes the Gram matrix of a tile in the forms below f64, from f32 or f64 rows. TileFolder uses
// it.
#pragma once

#include <nlsq/scheduler.hpp>
#include "rows/row_model.hpp"

#include <cstddef>
#include <vector>

namespace nlsq::inline v0 {

// Each worker has one and keeps it between passes. It holds the narrowed columns of one tile.
class LowGram {
 public:
  // Must be called before the first `add` of a pass, for tiles of n1 columns and at most `tile_rows` rows, a
  // multiple of 64.
  void restart(Gram form, int n1, std::size_t tile_rows) { form_ = form, n1_ = n1, tile_rows_ = tile_rows; }

  // Adds the packed triangle of [J | r], computed from f32 columns, to `sums`.
  void add(const float* const* columns, std::size_t rows, double* sums, KernelCounters& counters);
  // Does the same from f64 columns: J is narrowed, and the products with r stay in f64.
  void add(const double* const* columns, std::size_t rows, double* sums, KernelCounters& counters);

  std::size_t bytes() const;

 private:
  const float* const* round_to_f16(const float* const* columns, std::size_t rows);
  void product_of(const float* const* columns, std::size_t rows, KernelCounters& counters);
  void multiply(const float* const* columns, std::size_t rows, double* sums, KernelCounters& counters);
  void add_triangle(double* sums) const;
  void set_last_column();

  Gram form_ = Gram::f32_wide;
  int n1_ = 0;
  std::size_t tile_rows_ = 0;
  std::vector<float> tile_, rounded_;
  std::vector<const float*> tile_pointers_, rounded_pointers_;
  std::vector<double> triangle_, last_;
};

}  // namespace nlsq::inline v0
