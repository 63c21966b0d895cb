// Rows whose errors are correlated: residuals L⁻¹r and derivatives L⁻¹J of other rows, with LLᵀ the
// covariance of r, are those of rows with independent errors of variance one (generalised least squares). All
// rows are one piece: a pass evaluates all of them at once.
#pragma once

#include <nlsq/matrix.hpp>
#include "rows/row_model.hpp"

#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

class Whitening {
 public:
  // Throws ValidationError where `covariance` is not rows x rows, has a value that is not finite, is not
  // symmetric, or not positive definite; it names row and column, counted from 0.
  Whitening(const Matrix& covariance, std::size_t rows);

  std::size_t rows() const { return L_.rows(); }
  // v <- L⁻¹v, v of rows() numbers.
  void apply(double* v) const;
  // m <- |L⁻¹| m: what rounding errors of size m can come to.
  void apply_to_sizes(double* m) const;
  // ‖L⁻¹(y - c)‖² of the constant c for which it is least.
  double total_squares(std::vector<double> y) const;

 private:
  Matrix L_, inverse_;  // lower triangles
};

class WhitenedRows final : public RowModel {
 public:
  // Both must outlive it.
  WhitenedRows(RowModel& rows, const Whitening& whitening) : rows_(rows), whitening_(whitening) {}

  int parameters() const override { return rows_.parameters(); }
  std::size_t rows() const override { return rows_.rows(); }
  std::size_t tile_rows() const override { return 256; }
  bool has_f32() const override { return false; }
  const char* kind() const override { return rows_.kind(); }
  bool concurrent() const override { return rows_.concurrent(); }
  double row_cost(Fill fill) const override;
  void prepare(std::span<const double> x, Fill fill) const override;
  bool one_point() const override { return true; }
  // Throws ValidationError for `single`.
  std::unique_ptr<TilePass> begin(std::span<const double> x, Fill fill, bool single) const override;
  NonFinite explain_non_finite(std::span<const double> x, std::size_t first, std::size_t count) override;
  void reference_residuals(std::span<const double> x, std::size_t first, std::size_t count, double* residuals,
                           double* magnitudes) const override;
  std::span<const double> typical_parameters() const override { return rows_.typical_parameters(); }

 private:
  struct Evaluation;  // whitened columns at one x
  class Pass;
  std::shared_ptr<const Evaluation> evaluate(std::span<const double> x, bool derivatives) const;

  RowModel& rows_;
  const Whitening& whitening_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Evaluation> latest_;
  mutable std::vector<double> reference_at_, reference_, reference_sizes_;
};

}  // namespace nlsq::inline v0
