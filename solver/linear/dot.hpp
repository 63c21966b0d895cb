// Dot products, Euclidean norms whose squares may overflow, and the norm in which steps and parameters are
// compared.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace nlsq::inline v0 {

// Returns Σ a_i b_i, summed from first to last, so that every caller gets the same bits.
template <class N>
double dot(const double* a, const double* b, N n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}
inline double dot(std::span<const double> a, std::span<const double> b) {
  return dot(a.data(), b.data(), a.size());
}

// Returns the norm of term(0) … term(n-1). If parameters have gone towards infinity, the squares may overflow
// although the norm does not. Then the largest term is divided out, because the ratio of two infinite norms
// is not a number.
template <class Term>
double norm_of(std::size_t n, Term term) {
  double squares = 0;
  for (std::size_t j = 0; j < n; ++j) squares += term(j) * term(j);
  if (std::isfinite(squares)) return std::sqrt(squares);
  double largest = 0, ratios = 0;
  for (std::size_t j = 0; j < n; ++j) largest = std::max(largest, std::fabs(term(j)));
  if (!std::isfinite(largest) || largest == 0) return std::sqrt(squares);
  for (std::size_t j = 0; j < n; ++j) ratios += (term(j) / largest) * (term(j) / largest);
  return largest * std::sqrt(ratios);
}

// Returns ‖D v‖ for the diagonal matrix D of `scale`.
inline double scaled_norm(std::span<const double> v, std::span<const double> scale) {
  return norm_of(v.size(), [&](std::size_t j) { return v[j] * scale[j]; });
}

}  // namespace nlsq::inline v0
