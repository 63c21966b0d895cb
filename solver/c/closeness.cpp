// Implements the comparison of values.
#include "c/closeness.hpp"

#include "kernels/kernel_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nlsq::inline v0::c {

void SquareSums::add(const double* differing, const double* values, std::size_t rows) {
  constexpr std::size_t kWhole = 16;
  double unused = 0;
  const std::size_t whole = rows - rows % kWhole;  // the kernel reads whole vectors, and the rows may end
  kernels().term_sums(values, values, whole, &theirs, &unused);
  kernels().term_sums(differing, differing, whole, &differences, &unused);
  for (std::size_t i = whole; i < rows; ++i) {
    theirs += values[i] * values[i];
    differences += differing[i] * differing[i];
  }
  count += rows;
}

bool Closeness::is_plain(const SquareSums& sums) const {
  constexpr double kLeast = 1e-200;  // below it, squares lose digits
  const bool all_finite = sums.theirs < std::numeric_limits<double>::infinity();
  return sums.theirs > kLeast && all_finite &&
         sums.differences <= of_largest * of_largest * sums.theirs / static_cast<double>(sums.count);
}

bool Closeness::holds(const double* ours, const double* theirs, std::size_t count, double largest,
                      const std::function<double(std::size_t)>& rounding) const {
  constexpr double kMostRounding = 1000;
  const auto explained = [&](std::size_t i, double difference) {
    const double rounded = rounding(i);
    return difference <= rounded && rounded <= kMostRounding * relative * largest;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const double allowed = relative * std::fabs(theirs[i]) + of_largest * largest;
    const double difference = std::fabs(ours[i] - theirs[i]);
    const bool finite = std::isfinite(ours[i]) && std::isfinite(theirs[i]);
    const bool same = ours[i] == theirs[i] || (std::isnan(ours[i]) && std::isnan(theirs[i]));
    if (!same && !(finite && (difference <= allowed || explained(i, difference)))) return false;
  }
  return true;
}

double largest_size(const double* values, std::size_t count) {
  double largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (std::isfinite(values[i])) largest = std::max(largest, std::fabs(values[i]));
  }
  return largest;
}

}  // namespace nlsq::inline v0::c
