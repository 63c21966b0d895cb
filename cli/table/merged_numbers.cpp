// Implements warning_of_merged_numbers().
#include "table/merged_numbers.hpp"

#include "table/numbers/number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace nlsq::cli {

std::string warning_of_merged_numbers(const Column& column, const std::string& label) {
  constexpr double kOfStep = 0.01;  // smaller gaps do no harm
  const std::size_t rows = column.size();
  if (rows < 2 || !(std::fabs(column[0]) >= kFirstMerged)) return {};
  double largest = std::fabs(column[0]);
  std::vector<double> steps;  // without those of rows that are equal, perhaps by rounding
  for (std::size_t i = 1; i < rows; ++i) {
    largest = std::max(largest, std::fabs(column[i]));
    if (column[i] != column[i - 1]) steps.push_back(std::fabs(column[i] - column[i - 1]));
  }
  if (steps.empty()) return {};
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::ranges::nth_element(steps, middle);
  const double gap = std::nextafter(largest, std::numeric_limits<double>::infinity()) - largest;
  if (!(gap > kOfStep * *middle)) return {};
  return fmt::format(
      "{} has numbers near {:.0f}, which float64 rounds to multiples of {:.0f}, and its rows are {:.3g} "
      "apart: subtract an offset from the numbers before they are read",
      label, column[0], gap, *middle);
}

}  // namespace nlsq::cli
