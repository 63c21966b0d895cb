// A sum that few large numbers do not decide. The certificates use it: one row of 1e12 says nothing about how
// well the others are fitted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>

namespace nlsq::inline v0 {

// The sum without the largest tenth, at least one number. Changes the order of the numbers.
inline double sum_of_most(std::span<double> numbers) {
  if (numbers.empty()) return 0;
  const auto left_out = static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, numbers.size() / 10));
  const auto end = numbers.end() - left_out;
  std::ranges::nth_element(numbers, end);
  return std::accumulate(numbers.begin(), end, 0.0);
}

}  // namespace nlsq::inline v0
