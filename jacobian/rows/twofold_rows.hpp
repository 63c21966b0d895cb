// Evaluates the residuals of rows with twice the digits of f64. The certificate uses them where the terms of
// the model cancel. They cost some hundred times as much as a pass.
#pragma once

#include "expression/twofold.hpp"
#include "rows/row_model.hpp"

#include <nlsq/column.hpp>

#include <functional>
#include <memory>
#include <span>

namespace nlsq::inline v0 {

class NLSQ_API TwofoldRows {
 public:
  virtual ~TwofoldRows() = default;
  // Whether residuals are divided by a sigma of the row.
  virtual bool weighted() const { return false; }
  // Computes residuals of rows [first, first + count) at x, bounds of their rounding errors, and how much the
  // last digits of the data move each.
  virtual void residuals(std::span<const double> x, std::size_t first, std::size_t count, double* residuals,
                         double* errors, double* last_digits) = 0;
};

// Rows whose residual is one expression of their data and of all parameters.
class NLSQ_API TwofoldGraphRows final : public TwofoldRows {
 public:
  using Expand = std::function<void(std::span<const double> x, std::span<double> all)>;
  // `expand` writes all parameters. `sizes_of` are the rows whose reference_residuals() give the size of y;
  // null: every number that the rows supply counts as known to its last digit. `sigma`: the data column by
  // which residuals are divided, or -1.
  TwofoldGraphRows(TwofoldExpression residual, const RowSource& data, std::size_t parameters, Expand expand,
                   const RowModel* sizes_of, int sigma);
  bool weighted() const override { return sigma_ >= 0; }
  void residuals(std::span<const double> x, std::size_t first, std::size_t count, double* residuals,
                 double* errors, double* last_digits) override;

 private:
  void digits_of_y(std::size_t first, std::span<double> sizes) const;

  TwofoldExpression residual_;
  const RowSource& data_;
  std::vector<double> parameters_, row_;
  Expand expand_;
  const RowModel* sizes_of_;
  int sigma_;
};

}  // namespace nlsq::inline v0
