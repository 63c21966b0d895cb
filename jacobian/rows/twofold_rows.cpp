// Evaluates residuals in numbers of twice the digits of f64, row by row.
#include "rows/twofold_rows.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

std::unique_ptr<TwofoldRows> RowModel::twofold() const { return nullptr; }

TwofoldGraphRows::TwofoldGraphRows(TwofoldExpression residual, const RowSource& data, std::size_t parameters,
                                   Expand expand, const RowModel* sizes_of, int sigma)
    : residual_(std::move(residual)), data_(data), parameters_(parameters),
      row_(static_cast<std::size_t>(data.columns())), expand_(std::move(expand)), sizes_of_(sizes_of),
      sigma_(sigma) {}

// Turns the sizes of y into last digits. Where y is near 0, it has last digits of the usual size: it was a
// sum or a difference of numbers of this size.
void TwofoldGraphRows::digits_of_y(std::size_t first, std::span<double> sizes) const {
  constexpr double kLastDigit = 0x1p-53;
  std::vector<double> sigma(sizes.size(), 1.0), sorted(sizes.begin(), sizes.end());
  if (sigma_ >= 0) data_.read(first, sigma.size(), sigma_, sigma.data());
  for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i] *= sigma[i];
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    sizes[i] = kLastDigit * std::max(sizes[i], *middle / sigma[i]);
}

void TwofoldGraphRows::residuals(std::span<const double> x, std::size_t first, std::size_t count,
                                 double* residuals, double* errors, double* last_digits) {
  expand_(x, parameters_);
  // The sizes come first, together with residuals in double, which are overwritten.
  if (sizes_of_ != nullptr) {
    sizes_of_->reference_residuals(x, first, count, residuals, last_digits);
    digits_of_y(first, {last_digits, count});
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t c = 0; c < row_.size(); ++c) data_.read(first + i, 1, static_cast<int>(c), &row_[c]);
    const TwofoldValue value = residual_(row_, parameters_);
    residuals[i] = value.number.rounded();
    errors[i] = value.error;
    if (sizes_of_ == nullptr) last_digits[i] = residual_.change_by_last_digits(row_, parameters_);
  }
}

}  // namespace nlsq::inline v0
