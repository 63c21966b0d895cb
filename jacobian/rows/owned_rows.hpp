// A row source that owns its columns. Recorded functions of residuals use it.
#pragma once

#include <nlsq/column.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

// Data columns that hold the constants in which the residuals of a group differ.
class OwnedRows final : public RowSource {
 public:
  OwnedRows(std::vector<std::vector<double>> columns, std::size_t rows)
      : columns_(std::move(columns)), rows_(rows) {}
  std::size_t rows() const override { return rows_; }
  int columns() const override { return static_cast<int>(columns_.size()); }
  using RowSource::read;
  void read(std::size_t first, std::size_t count, int column, double* out) const override {
    std::copy_n(direct_f64(first, column), count, out);
  }
  const double* direct_f64(std::size_t first, int column) const override {
    return columns_[static_cast<std::size_t>(column)].data() + first;
  }

 private:
  std::vector<std::vector<double>> columns_;
  std::size_t rows_;
};

}  // namespace nlsq::inline v0
