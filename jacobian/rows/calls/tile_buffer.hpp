// A tile of columns [J | r] in f64, for rows that are computed one by one by the user's code.
#pragma once

#include "program/aligned_buffer.hpp"

#include "rows/row_model.hpp"

#include <stdexcept>
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
  AlignedBuffer<double> storage_;
  std::vector<double*> columns_;
};

// A pass of a row model without f32; RowModel::has_f32 tells callers not to request it.
class DoublePass : public TilePass {
 public:
  float* const* fill_f32(std::size_t, std::size_t, KernelCounters&) final {
    throw std::logic_error("these rows are evaluated in f64 only");
  }
};

}  // namespace nlsq::inline v0
