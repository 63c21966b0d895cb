// Evaluates the residuals of rows with twice the digits of f64. The certificate uses them where the terms of
// the model cancel. They cost some hundred times as much as a pass.
#pragma once

#include "expression/twofold.hpp"
#include "rows/row_model.hpp"

#include <nlsq/column.hpp>

#include <functional>
#include <span>

namespace nlsq::inline v0 {

class NLSQ_API TwofoldRows {
 public:
  virtual ~TwofoldRows() = default;
  // Returns true if residuals are divided by a sigma of the row.
  virtual bool weighted() const { return false; }
  // Computes residuals of rows [first, first + count) at x, and bounds of their rounding errors.
  virtual void residuals(std::span<const double> x, std::size_t first, std::size_t count, double* residuals,
                         double* errors) = 0;
  // Computes how much the last digit of y moves each residual.
  virtual void last_digits(std::span<const double> x, std::size_t first, std::size_t count, double* out) = 0;
};

// Evaluates rows whose residual is one expression of their data and of all parameters.
class NLSQ_API TwofoldGraphRows final : public TwofoldRows {
 public:
  using Expand = std::function<void(std::span<const double> x, std::span<double> all)>;
  // `expand` writes all parameters. `response` is the data column of y, or -1 if it is not known which column
  // is y (TwofoldExpression::responses). `weighted` is true if residuals are divided by a column sigma.
  TwofoldGraphRows(TwofoldExpression residual, const RowSource& data, std::size_t parameters, Expand expand,
                   int response, bool weighted);
  bool weighted() const override { return weighted_; }
  void residuals(std::span<const double> x, std::size_t first, std::size_t count, double* residuals,
                 double* errors) override;
  void last_digits(std::span<const double> x, std::size_t first, std::size_t count, double* out) override;

 private:
  void read_row(std::size_t row);
  std::vector<double> sizes_in(int column) const;
  void find_responses();

  TwofoldExpression residual_;
  const RowSource& data_;
  std::vector<double> parameters_, row_;
  Expand expand_;
  int response_;
  bool weighted_;
  std::vector<TwofoldExpression::Datum> responses_;
  std::vector<double> usual_sizes_;  // for each response, the median size of its rows
};

}  // namespace nlsq::inline v0
