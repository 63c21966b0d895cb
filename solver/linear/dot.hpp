// Σ a_i b_i, summed from first to last, so that every caller gets the same bits.
#pragma once

#include <cstddef>
#include <span>

namespace nlsq::inline v0 {

inline double dot(const double* a, const double* b, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}
inline double dot(std::span<const double> a, std::span<const double> b) {
  return dot(a.data(), b.data(), a.size());
}

}  // namespace nlsq::inline v0
