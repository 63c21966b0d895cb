// Implements negative_curvature() by Lanczos's method, which finds the extreme eigenvalues first. All of its
// vectors are kept orthogonal to each other.
#include "linear/negative_curvature.hpp"

#include "dense/dense_algebra.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr double kNothingLeft = 1e-6;  // relative to the largest eigenvalue

// Holds the lowest eigenvalue of a symmetric tridiagonal matrix with its eigenvector, and the largest
// magnitude of an eigenvalue.
struct Lowest {
  double value = 0, largest = 0;
  std::vector<double> vector;
};
Lowest lowest_of(std::span<const double> diagonal, std::span<const double> beside) {
  const std::size_t k = diagonal.size();
  std::vector<double> T(k * k, 0.0), values(k);
  for (std::size_t i = 0; i < k; ++i) T[i * k + i] = diagonal[i];
  for (std::size_t i = 0; i + 1 < k; ++i) T[i * k + i + 1] = T[(i + 1) * k + i] = beside[i];
  if (!dense::symmetric_eigen(T.data(), k, values.data())) return {};
  const auto least = static_cast<std::size_t>(std::ranges::min_element(values) - values.begin());
  const double largest = std::ranges::max(values, {}, [](double v) { return std::fabs(v); });
  return {values[least], std::fabs(largest), {&T[least * k], &T[least * k] + k}};
}

}  // namespace

NegativeCurvature negative_curvature(std::size_t n, std::size_t most, const CurvatureProduct& times) {
  Random random(1);
  std::vector<double> next(n), diagonal, beside;
  fill_with_signs(random, next);
  std::vector<std::vector<double>> basis;
  Lowest lowest;
  bool found = false;
  double length = dense::norm(next.data(), n);
  while (!found && basis.size() < std::min(n, most)) {
    basis.push_back(next);
    for (double& number : basis.back()) number /= length;
    if (!times(basis.back(), next)) return {};
    diagonal.push_back(dense::dot(basis.back().data(), next.data(), n));
    lowest = lowest_of(diagonal, beside);
    for (const std::vector<double>& v : basis) {
      const double part = dense::dot(v.data(), next.data(), n);
      for (std::size_t i = 0; i < n; ++i) next[i] -= part * v[i];
    }
    length = dense::norm(next.data(), n);
    found = lowest.value < -kNegativeCurvature * std::max(lowest.largest, length);
    if (!(length > kNothingLeft * lowest.largest)) break;
    beside.push_back(length);
  }
  if (!found) return {};
  NegativeCurvature out{lowest.value, std::vector<double>(n, 0.0)};
  for (std::size_t k = 0; k < basis.size(); ++k) {
    for (std::size_t i = 0; i < n; ++i) out.along[i] += lowest.vector[k] * basis[k][i];
  }
  return out;
}

bool scaled_spectrum(std::span<const double> G, std::span<const double> norms, ScaledSpectrum& out) {
  const std::size_t n = norms.size();
  out.scale.assign(n, 1.0);
  out.values.assign(n, 0.0);
  out.vectors.assign(n * n, 0.0);
  for (std::size_t j = 0; j < n; ++j) {
    // Second derivatives are those of JᵀJ plus others. Where the two cancel, what is left of them may be only
    // rounding error, and must not be scaled up to 1.
    constexpr double kCancelled = 1e-6;
    const double diagonal = std::max(std::fabs(G[j * n + j]), kCancelled * norms[j] * norms[j]);
    // If an unknown's diagonal entry is 0, as at the origin of a*b, its size follows from its largest product
    // with another unknown.
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, std::fabs(G[j * n + i]));
    constexpr double kNothing = 1e-12;
    out.scale[j] = std::sqrt(diagonal > kNothing * largest ? diagonal : largest > 0 ? largest : 1);
  }
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < n; ++i) {
      const double mean = 0.5 * (G[j * n + i] + G[i * n + j]);
      out.vectors[j * n + i] = mean / (out.scale[i] * out.scale[j]);
      if (!std::isfinite(out.vectors[j * n + i])) return false;
    }
  }
  return dense::symmetric_eigen(out.vectors.data(), n, out.values.data());
}

}  // namespace nlsq::inline v0
