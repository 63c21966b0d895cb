// Evaluates residuals in numbers of twice the digits of f64, row by row.
#include "rows/twofold_rows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

std::unique_ptr<TwofoldRows> RowModel::twofold() const { return nullptr; }

TwofoldGraphRows::TwofoldGraphRows(TwofoldExpression residual, const RowSource& data, std::size_t parameters,
                                   Expand expand, int response, bool weighted)
    : residual_(std::move(residual)), data_(data), parameters_(parameters),
      row_(static_cast<std::size_t>(data.columns())), expand_(std::move(expand)), response_(response),
      weighted_(weighted) {}

void TwofoldGraphRows::read_row(std::size_t row) {
  for (std::size_t c = 0; c < row_.size(); ++c) data_.read(row, 1, static_cast<int>(c), &row_[c]);
}

void TwofoldGraphRows::residuals(std::span<const double> x, std::size_t first, std::size_t count,
                                 double* residuals, double* errors) {
  expand_(x, parameters_);
  for (std::size_t i = 0; i < count; ++i) {
    read_row(first + i);
    const TwofoldValue value = residual_(row_, parameters_);
    residuals[i] = value.number.rounded();
    errors[i] = value.error;
  }
}

std::vector<double> TwofoldGraphRows::sizes_in(int column) const {
  std::vector<double> sizes(data_.rows());
  data_.read(0, sizes.size(), column, sizes.data());
  for (double& size : sizes) size = std::fabs(size);
  return sizes;
}

void TwofoldGraphRows::find_responses() {
  // If y is 0 everywhere, the model may be a function of residuals, which subtracts the true y itself.
  if (response_ >= 0 && std::ranges::max(sizes_in(response_)) > 0) responses_ = residual_.datum(response_);
  else responses_ = residual_.responses(response_);
  for (const TwofoldExpression::Datum& datum : responses_) {
    std::vector<double> sizes = datum.column < 0 ? std::vector<double>{0} : sizes_in(datum.column);
    const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
    std::ranges::nth_element(sizes, middle);
    usual_sizes_.push_back(*middle);
  }
}

// If y is near 0 in a row, its last digits are those of a number of the usual size, because it was a sum or a
// difference of such numbers. If several numbers may be y, the one that moves the residual least counts.
// Otherwise noise of y would be taken for rounding of another number.
void TwofoldGraphRows::last_digits(std::span<const double> x, std::size_t first, std::size_t count,
                                   double* out) {
  constexpr double kLastDigit = 0x1p-52;
  if (responses_.empty()) find_responses();
  expand_(x, parameters_);
  for (std::size_t i = 0; i < count; ++i) {
    read_row(first + i);
    out[i] = 0;
    for (std::size_t k = 0; k < responses_.size(); ++k) {
      const double size = std::max(std::fabs(residual_.value(row_, responses_[k])), usual_sizes_[k]);
      const double change = std::fabs(residual_.change(row_, parameters_, responses_[k], kLastDigit * size));
      if (change > 0 && std::isfinite(change)) out[i] = out[i] > 0 ? std::min(out[i], change) : change;
    }
  }
}

}  // namespace nlsq::inline v0
