// Evaluates residuals in numbers of twice the digits of f64, row by row.
#include "rows/twofold_rows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

std::unique_ptr<TwofoldRows> RowModel::twofold() const { return nullptr; }

TwofoldGraphRows::TwofoldGraphRows(Expressions expressions, std::shared_ptr<const RowSource> data,
                                   std::vector<double> parameters, Places places, int response, bool weighted)
    : of_(std::move(expressions)), data_(std::move(data)), parameters_(std::move(parameters)),
      row_(static_cast<std::size_t>(data_->columns())), places_(std::move(places)), response_(response),
      weighted_(weighted) {}

// Reads the data of a row, and its parameters from x.
void TwofoldGraphRows::read_row(std::span<const double> x, std::size_t row) {
  for (std::size_t c = 0; c < row_.size(); ++c) data_->read(row, 1, static_cast<int>(c), &row_[c]);
  const std::span<const int> places = places_(row);
  for (std::size_t k = 0; k < places.size(); ++k)
    if (places[k] >= 0) parameters_[k] = x[static_cast<std::size_t>(places[k])];
}

void TwofoldGraphRows::residuals(std::span<const double> x, std::size_t first, std::size_t count,
                                 double* residuals, double* errors) {
  for (std::size_t i = 0; i < count; ++i) {
    read_row(x, first + i);
    const TwofoldValue value = of_.residual(row_, parameters_);
    residuals[i] = value.number.rounded();
    errors[i] = value.error;
  }
}

void TwofoldGraphRows::derivatives(std::span<const double> x, std::size_t row, std::span<TwofoldValue> out) {
  std::ranges::fill(out, TwofoldValue());
  read_row(x, row);
  std::size_t next = 0;
  for (const int place : places_(row)) {
    if (place < 0) continue;
    if (next == 0) of_.derivatives(row_, parameters_);
    const TwofoldValue found = of_.derivatives.of(next++);
    TwofoldValue& sum = out[static_cast<std::size_t>(place)];  // a block may use the same number twice
    sum = {sum.number + found.number, sum.error + found.error};
  }
}

void TwofoldGraphRows::find_responses() {
  // A function of residuals may come as a curve whose y is 0 everywhere.
  const auto all_zero = [&](int column) {
    std::vector<double> values(data_->rows());
    data_->read(0, values.size(), column, values.data());
    return std::ranges::all_of(values, [](double value) { return value == 0; });
  };
  responses_ = response_ >= 0 && !all_zero(response_) ? of_.residual.datum(response_)
                                                      : of_.residual.responses(response_);
  for (const TwofoldExpression::Datum& datum : of_.residual.all_data())
    if (std::ranges::count(responses_, datum) == 0) others_.push_back(datum);
}

// Of several numbers that may be y the one counts that moves the residual least: noise of y must not pass for
// rounding of another number.
TwofoldRows::LastDigits TwofoldGraphRows::last_digits(std::span<const double> x, std::size_t row) {
  constexpr double kLastDigit = 0x1p-52;
  if (responses_.empty()) find_responses();
  read_row(x, row);
  LastDigits out;
  const auto visit = [&](std::span<const TwofoldExpression::Datum> data, const auto& found) {
    for (const TwofoldExpression::Datum& datum : data) {
      const double digit = kLastDigit * std::fabs(of_.residual.value(row_, datum));
      const double change = std::fabs(of_.residual.change(row_, parameters_, datum, digit));
      if (change > 0 && std::isfinite(change)) found(digit, change);
    }
  };
  visit(responses_, [&](double digit, double change) {
    if (out.of_y == 0 || change < out.of_y) out.y = digit, out.of_y = change;
  });
  visit(others_, [&](double, double change) { out.of_others = std::hypot(out.of_others, change); });
  return out;
}

void TwofoldParts::place(std::size_t as, std::size_t part, std::size_t row) {
  places_.resize(std::max(places_.size(), as + 1));
  places_[as] = {part, row};
}

void TwofoldParts::residuals(std::span<const double> x, std::size_t first, std::size_t count,
                             double* residuals, double* errors) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto [part, row] = places_[first + i];
    parts_[part]->residuals(x, row, 1, residuals + i, errors + i);
  }
}

void TwofoldParts::derivatives(std::span<const double> x, std::size_t row, std::span<TwofoldValue> out) {
  parts_[places_[row].part]->derivatives(x, places_[row].row, out);
}

TwofoldRows::LastDigits TwofoldParts::last_digits(std::span<const double> x, std::size_t row) {
  return parts_[places_[row].part]->last_digits(x, places_[row].row);
}

}  // namespace nlsq::inline v0
