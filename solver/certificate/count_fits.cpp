// Implements constant_deviance() and message_of_zero().
#include "certificate/count_fits.hpp"

#include "support/column_blocks.hpp"
#include "support/constants.hpp"

#include <fmt/format.h>

#include <cmath>
#include <vector>

namespace nlsq::inline v0 {

double constant_deviance(const RowSource& data, int y) {
  const Column column(data, y);
  const double mean = mean_of_finite(column);
  double sum = 0;
  for_blocks(column, [&](std::size_t, std::span<const double> counts) {
    double part = 0;
    for (const double k : counts) part += k > 0 ? k * std::log(k / mean) : 0;
    sum += part;
  });
  return 2 * sum;
}

std::string message_of_zero(const RowModel& rows, const RowSource& data, int y, std::span<const double> x) {
  constexpr double kAllButZero = 1e-3;  // relative to the mean of the counts
  const Column column(data, y);
  std::vector<double> residuals, sizes;
  double lowest = kInfinity;
  std::size_t row = 0;
  for_blocks(column, [&](std::size_t first, std::span<const double> counts) {
    residuals.resize(counts.size()), sizes.resize(counts.size());
    rows.reference_residuals(x, first, counts.size(), residuals.data(), sizes.data());
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (counts[i] == 0 && residuals[i] < lowest) lowest = residuals[i], row = first + i;
  });
  if (!(lowest <= kAllButZero * mean_of_finite(column))) return "";
  return fmt::format(
      "the curve is all but 0 in row {}, which has no counts. If the likelihood grows until it is 0 there, "
      "no minimum can be certified, and standard errors do not hold: use a model that stays positive, or "
      "keep its constant above 0 by a bound",
      row);
}

}  // namespace nlsq::inline v0
