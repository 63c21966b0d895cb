// Applies a loss to rows that are computed by calls of the user's code, one residual after the other
// (residual_form.hpp). f64 only.
#pragma once

#include <nlsq/column.hpp>
#include "rows/residual_form.hpp"
#include "rows/row_model.hpp"

#include <memory>
#include <span>

namespace nlsq::inline v0 {

// Holds the data, and the number of the column that holds y.
struct CountColumn {
  std::shared_ptr<const RowSource> data;
  int column = 0;
};

class NLSQ_API LossRows final : public RowModel {
 public:
  // Rows with several losses may share `base`, and thereby its evaluations. `counts` is given for a loss of
  // counts. Then `base` returns values of the model instead of residuals.
  LossRows(std::shared_ptr<RowModel> base, ResidualForm form, CountColumn counts = {});

  int parameters() const override { return base_->parameters() + form_.extra_columns(); }
  std::size_t rows() const override { return base_->rows(); }
  std::size_t tile_rows() const override { return base_->tile_rows(); }
  std::size_t tile_count() const override { return base_->tile_count(); }
  TileRange tile(std::size_t index) const override { return base_->tile(index); }
  std::span<const RowComponent> components() const override { return base_->components(); }
  std::size_t component(std::size_t tile) const override { return base_->component(tile); }
  bool has_f32() const override { return false; }
  const char* kind() const override { return base_->kind(); }
  const Loss* robust_loss() const override { return form_.minimized_loss(); }
  bool concurrent() const override { return base_->concurrent(); }
  double row_cost(Fill fill) const override { return base_->row_cost(fill); }
  void prepare(std::span<const double> x, Fill fill) const override { base_->prepare(own(x), fill); }
  void start_at(std::span<const double> x) override { base_->start_at(x.empty() ? x : own(x)); }
  bool one_point() const override { return base_->one_point(); }
  bool rough(std::span<const double> x) const override { return base_->rough(own(x)); }
  bool extrapolate(bool on) override { return base_->extrapolate(on); }
  double difference_width(std::span<const double> x, std::size_t j) const override {
    return base_->difference_width(own(x), j);
  }
  std::vector<double> derivative_errors(std::span<const double> x) const override {
    return base_->derivative_errors(own(x));
  }
  std::unique_ptr<TilePass> begin(std::span<const double> x, Fill fill, bool single) const override;
  void reference_residuals(std::span<const double> x, std::size_t first, std::size_t count, double* residuals,
                           double* magnitudes) const override;
  std::span<const double> typical_parameters() const override { return base_->typical_parameters(); }
  void expect_gaps(bool gaps) const override { base_->expect_gaps(gaps); }
  void will_read(std::size_t first, std::size_t count) const override { base_->will_read(first, count); }
  void was_read(std::size_t first, std::size_t count) const override { base_->was_read(first, count); }

 private:
  class Pass;
  // Removes the elements of x that belong to extra columns.
  std::span<const double> own(std::span<const double> x) const {
    return x.first(static_cast<std::size_t>(base_->parameters()));
  }
  // Reads y of rows [first, first + count); zeros if there are no counts.
  void read_counts(std::size_t first, std::size_t count, double* out) const;

  std::shared_ptr<RowModel> base_;
  ResidualForm form_;
  CountColumn counts_;
};

}  // namespace nlsq::inline v0
