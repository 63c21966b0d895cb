// Holds a tile of columns [J | r] in f64, for rows that are computed one by one by the user's code.
#pragma once

#include "program/aligned_vector.hpp"

#include "rows/row_model.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

class TileBuffer {
 public:
  // With `jacobian` false, the columns of J are null.
  TileBuffer(std::size_t tile_rows, int parameters, bool jacobian)
      : storage_(tile_rows * static_cast<std::size_t>(jacobian ? parameters + 1 : 1)),
        columns_(static_cast<std::size_t>(parameters) + 1, nullptr) {
    double* next = storage_.data();
    for (std::size_t c = jacobian ? 0 : columns_.size() - 1; c < columns_.size(); ++c, next += tile_rows) {
      columns_[c] = next;
    }
  }
  double* const* columns() const { return columns_.data(); }
  double* residual() { return columns_.back(); }

 private:
  AlignedVector<double> storage_;
  std::vector<double*> columns_;
};

// A pass of a row model without f32; RowModel::has_f32 tells callers not to request it.
class DoublePass : public TilePass {
 public:
  float* const* fill_f32(std::size_t, std::size_t, KernelCounters&) final {
    throw std::logic_error("these rows are evaluated in f64 only");
  }
};

// Gives columns that are already computed for all rows, tile by tile. It copies them, because callers may
// overwrite tiles.
class CopyPass final : public DoublePass {
 public:
  // `columns` are those of J, if J is wanted, and then r. `owner` keeps them alive. `bytes` is the memory
  // that reports state for them.
  CopyPass(std::shared_ptr<const void> owner, std::vector<const double*> columns, std::size_t tile_rows,
           int parameters, std::size_t bytes = 0)
      : owner_(std::move(owner)), from_(std::move(columns)), bytes_(bytes),
        tile_(tile_rows, parameters, from_.size() > 1) {}

  double* const* fill_f64(std::size_t first, std::size_t count, KernelCounters& counters) override {
    for (std::size_t k = 0; k + 1 < from_.size(); ++k)
      std::copy_n(from_[k] + first, count, tile_.columns()[k]);
    std::copy_n(from_.back() + first, count, tile_.residual());
    counters.rows_f64 += count;
    return tile_.columns();
  }
  std::size_t bytes() const override { return bytes_; }

 private:
  std::shared_ptr<const void> owner_;
  std::vector<const double*> from_;
  std::size_t bytes_;
  TileBuffer tile_;
};

}  // namespace nlsq::inline v0
