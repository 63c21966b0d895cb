// This is a row model that consists of windows of rows of another one, spread evenly over all of them. Starts
// from samples use it. Windows are many rows long, because a strided sample would touch every cache line of
// the data.
#pragma once

#include "rows/row_model.hpp"

#include <optional>
#include <vector>

namespace nlsq::inline v0 {

class NLSQ_API SampleRows final : public RowModel {
 public:
  // Selects about `rows` rows of `all`: the middle window of each of several equal runs of windows. `all`
  // must outlive this object. While it lives, no other rows of `all` are read.
  SampleRows(RowModel& all, std::size_t rows);

  int parameters() const override { return all_.parameters(); }
  std::size_t rows() const override { return rows_; }
  std::size_t tile_rows() const override { return window_; }
  std::size_t tile_count() const override { return tiles_.size(); }
  TileRange tile(std::size_t index) const override { return tiles_[index]; }
  std::span<const RowComponent> components() const override { return all_.components(); }
  std::size_t component(std::size_t tile) const override { return all_.component(sources_[tile]); }
  bool has_f32() const override { return all_.has_f32(); }
  bool concurrent() const override { return all_.concurrent(); }
  const char* kind() const override { return all_.kind(); }
  const Loss* robust_loss() const override { return all_.robust_loss(); }
  double row_cost(Fill fill) const override { return all_.row_cost(fill); }
  void prepare(std::span<const double> x, Fill fill) const override { all_.prepare(x, fill); }
  std::unique_ptr<TilePass> begin(std::span<const double> x, Fill fill, bool single) const override {
    return all_.begin(x, fill, single);
  }
  NonFinite explain_non_finite(std::span<const double> x, std::size_t first, std::size_t count) override {
    return all_.explain_non_finite(x, first, count);
  }
  void reference_residuals(std::span<const double> x, std::size_t first, std::size_t count, double* residuals,
                           double* magnitudes) const override {
    all_.reference_residuals(x, first, count, residuals, magnitudes);
  }
  std::vector<double> derivative_errors(std::span<const double> x) const override {
    return all_.derivative_errors(x);
  }
  std::span<const double> typical_parameters() const override { return all_.typical_parameters(); }
  void expect_gaps(bool gaps) const override { all_.expect_gaps(gaps); }
  void will_read(std::size_t first, std::size_t count) const override { all_.will_read(first, count); }
  void was_read(std::size_t first, std::size_t count) const override { all_.was_read(first, count); }

 private:
  RowModel& all_;
  std::vector<TileRange> tiles_;
  std::vector<std::size_t> sources_;  // the tiles of `all` that hold the windows
  std::size_t rows_ = 0, window_ = 0;
  std::optional<ReadGaps> gaps_;
};

}  // namespace nlsq::inline v0
