// Evaluates rows with twice the digits of f64. The certificate uses them where the terms of the model cancel.
// They cost some hundred times as much as a pass.
#pragma once

#include "expression/twofold.hpp"
#include "rows/row_model.hpp"

#include <nlsq/column.hpp>

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

class NLSQ_API TwofoldRows {
 public:
  virtual ~TwofoldRows() = default;
  // Whether residuals are divided by a sigma of the row.
  virtual bool weighted() const { return false; }
  // Computes residuals of rows [first, first + count) at x, and bounds of their rounding errors.
  virtual void residuals(std::span<const double> x, std::size_t first, std::size_t count, double* residuals,
                         double* errors) = 0;
  // Computes the derivatives of one row by all numbers of x, and bounds of their rounding errors.
  virtual void derivatives(std::span<const double> x, std::size_t row, std::span<TwofoldValue> out) = 0;
  // The last digit of y, how much it moves the residual of a row, and how much the last digits of all other
  // data do.
  struct LastDigits {
    double y = 0, of_y = 0, of_others = 0;
  };
  virtual LastDigits last_digits(std::span<const double> x, std::size_t row) = 0;
};

// Rows whose residual is one expression of their data and of parameters, some of which are numbers of x.
class NLSQ_API TwofoldGraphRows final : public TwofoldRows {
 public:
  // The residual, and its derivatives by those parameters that are numbers of x.
  struct Expressions {
    TwofoldExpression residual, derivatives;
    bool usable() const { return residual.usable() && derivatives.usable(); }
  };
  // Returns the place in x of each parameter in a row; -1: it keeps its value. Which ones do is the same in
  // all rows.
  using Places = std::function<std::span<const int>(std::size_t row)>;
  // `response`: the data column of y, or -1 where nobody says what y is (TwofoldExpression::responses).
  // `weighted`: whether residuals are divided by a column sigma.
  TwofoldGraphRows(Expressions expressions, std::shared_ptr<const RowSource> data,
                   std::vector<double> parameters, Places places, int response = -1, bool weighted = false);
  bool weighted() const override { return weighted_; }
  void residuals(std::span<const double> x, std::size_t first, std::size_t count, double* residuals,
                 double* errors) override;
  void derivatives(std::span<const double> x, std::size_t row, std::span<TwofoldValue> out) override;
  LastDigits last_digits(std::span<const double> x, std::size_t row) override;

 private:
  void read_row(std::span<const double> x, std::size_t row);
  void find_responses();

  Expressions of_;
  std::shared_ptr<const RowSource> data_;
  std::vector<double> parameters_, row_;
  Places places_;
  int response_;
  bool weighted_;
  std::vector<TwofoldExpression::Datum> responses_, others_;
};

// Rows of several kinds.
class NLSQ_API TwofoldParts final : public TwofoldRows {
 public:
  // Row `row` of a part becomes row `as` of all. Rows may come in any order.
  std::size_t add(std::unique_ptr<TwofoldRows> part) {
    parts_.push_back(std::move(part));
    return parts_.size() - 1;
  }
  void place(std::size_t as, std::size_t part, std::size_t row);
  void residuals(std::span<const double> x, std::size_t first, std::size_t count, double* residuals,
                 double* errors) override;
  void derivatives(std::span<const double> x, std::size_t row, std::span<TwofoldValue> out) override;
  LastDigits last_digits(std::span<const double> x, std::size_t row) override;

 private:
  struct Place {
    std::size_t part = 0, row = 0;
  };
  std::vector<Place> places_;
  std::vector<std::unique_ptr<TwofoldRows>> parts_;
};

}  // namespace nlsq::inline v0
