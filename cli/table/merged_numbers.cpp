// Implements warning_of_merged_numbers().
#include "table/merged_numbers.hpp"

#include "table/numbers/number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace nlsq::cli {

std::string warning_of_merged_numbers(const Column& column, const std::string& label) {
  constexpr double kOfStep = 0.01;  // smaller gaps do no harm
  const std::size_t rows = column.size();
  if (rows < 2 || !(std::fabs(column[0]) >= kFirstMerged)) return {};
  double largest = std::fabs(column[0]), steps = 0;
  for (std::size_t i = 1; i < rows; ++i) {
    largest = std::max(largest, std::fabs(column[i]));
    steps += std::fabs(column[i] - column[i - 1]);
  }
  const double step = steps / static_cast<double>(rows - 1);
  const double gap = std::nextafter(largest, std::numeric_limits<double>::infinity()) - largest;
  if (!(step > 0) || !(gap > kOfStep * step)) return {};
  return fmt::format(
      "{} has numbers near {:.0f}, which float64 rounds to multiples of {:.0f}, and its rows are {:.3g} "
      "apart on "
      "average: subtract an offset from the numbers before they are read",
      label, column[0], gap, step);
}

}  // namespace nlsq::cli
