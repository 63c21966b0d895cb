// Makes rows with correlated errors independent (generalised least squares). If LLᵀ is the covariance of r,
// the residuals L⁻¹r and their derivatives L⁻¹J have independent errors of variance one. A pass evaluates all
// rows at once. Curve fits with sigma_matrix use it.
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
  // `covariance` is rows x rows. Throws ValidationError that names row and column, counted from 0, if it has
  // another shape, contains a value that is not finite, is not symmetric, or is not positive definite.
  Whitening(const Matrix& covariance, std::size_t rows);

  std::size_t rows() const { return L_.rows(); }
  // Overwrites the rows() numbers of v with L⁻¹v.
  void apply(double* v) const;
  // Overwrites m with |L⁻¹| m, the bound of rounding errors that had size m.
  void apply_to_sizes(double* m) const;
  // Returns the minimum over constants c of ‖L⁻¹(y - c)‖².
  double total_squares(std::vector<double> y) const;

 private:
  Matrix L_, inverse_;  // lower triangles
};

class WhitenedRows final : public RowModel {
 public:
  // Both arguments must outlive it.
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
  bool rough(std::span<const double> x) const override { return rows_.rough(x); }
  bool extrapolate(bool on) override;
  double difference_width(std::span<const double> x, std::size_t j) const override {
    return rows_.difference_width(x, j);
  }
  std::vector<double> derivative_errors(std::span<const double> x) const override {
    return rows_.derivative_errors(x);
  }
  // Throws ValidationError if `single`: rows in f32 are not possible.
  std::unique_ptr<TilePass> begin(std::span<const double> x, Fill fill, bool single) const override;
  NonFinite explain_non_finite(std::span<const double> x, std::size_t first, std::size_t count) override;
  void reference_residuals(std::span<const double> x, std::size_t first, std::size_t count, double* residuals,
                           double* magnitudes) const override;
  std::span<const double> typical_parameters() const override { return rows_.typical_parameters(); }

 private:
  struct Evaluation;  // whitened columns at one x
  std::shared_ptr<const Evaluation> evaluate(std::span<const double> x, bool derivatives) const;

  RowModel& rows_;
  const Whitening& whitening_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Evaluation> latest_;
  mutable std::vector<double> reference_at_, reference_, reference_sizes_;
};

}  // namespace nlsq::inline v0
