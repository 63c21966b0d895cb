// Implements constant_deviance() and message_of_zero().
#include "certificate/counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace nlsq::inline v0 {

namespace {

// Calls visit(first, counts) for each block of rows.
template <class Visit>
void for_counts(const RowSource& data, int y, Visit visit) {
  std::vector<double> block(4096);
  for (std::size_t first = 0; first < data.rows(); first += block.size()) {
    const std::size_t count = std::min(block.size(), data.rows() - first);
    data.read(first, count, y, block.data());
    visit(first, std::span<const double>(block).first(count));
  }
}

double mean_count(const RowSource& data, int y) {
  double sum = 0;
  for_counts(data, y, [&](std::size_t, std::span<const double> counts) {
    double part = 0;
    for (const double k : counts) part += k;
    sum += part;
  });
  return sum / static_cast<double>(data.rows());
}

}  // namespace

double constant_deviance(const RowSource& data, int y) {
  const double mean = mean_count(data, y);
  double sum = 0;
  for_counts(data, y, [&](std::size_t, std::span<const double> counts) {
    double part = 0;
    for (const double k : counts) part += k > 0 ? k * std::log(k / mean) : 0;
    sum += part;
  });
  return 2 * sum;
}

std::string message_of_zero(const RowModel& rows, const RowSource& data, int y, std::span<const double> x) {
  constexpr double kAllButZero = 1e-3;  // relative to the mean of the counts
  std::vector<double> residuals, sizes;
  double lowest = std::numeric_limits<double>::infinity();
  std::size_t row = 0;
  for_counts(data, y, [&](std::size_t first, std::span<const double> counts) {
    residuals.resize(counts.size()), sizes.resize(counts.size());
    rows.reference_residuals(x, first, counts.size(), residuals.data(), sizes.data());
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (counts[i] == 0 && residuals[i] < lowest) lowest = residuals[i], row = first + i;
  });
  if (!(lowest <= kAllButZero * mean_count(data, y))) return "";
  return fmt::format(
      "the curve is all but 0 in row {}, which has no counts. If the likelihood grows until it is 0 there, "
      "no "
      "minimum can be certified, and standard errors do not hold: use a model that stays positive, or keep "
      "its constant above 0 by a bound",
      row);
}

}  // namespace nlsq::inline v0
