// Implements the comparison of values.
#include "c/closeness.hpp"

#include "kernels/kernel_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nlsq::inline v0::c {

bool Closeness::is_plain(const double* differences, const double* theirs, std::size_t count) const {
  constexpr double kLeast = 1e-200;  // below it, squares lose digits
  constexpr std::size_t kWhole = 16;
  double squares = 0, differing = 0, unused = 0;
  const std::size_t whole = count - count % kWhole;  // the kernel reads whole vectors, and the rows may end
  kernels().term_sums(theirs, theirs, whole, &squares, &unused);
  kernels().term_sums(differences, differences, whole, &differing, &unused);
  for (std::size_t i = whole; i < count; ++i) {
    squares += theirs[i] * theirs[i];
    differing += differences[i] * differences[i];
  }
  const bool all_finite = squares < std::numeric_limits<double>::infinity();
  return squares > kLeast && all_finite &&
         differing <= of_largest * of_largest * squares / static_cast<double>(count);
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
