// Implements the delta method a second time for the tests of predictions. Derivatives are central differences
// in long double, and Gauss-Jordan elimination inverts the normal matrix.
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

namespace reference {

using Real = long double;
using Model = std::function<Real(Real x, const std::vector<Real>& p)>;

inline std::vector<Real> gradient(const Model& f, Real x, const std::vector<double>& p) {
  std::vector<Real> out;
  for (std::size_t j = 0; j < p.size(); ++j) {
    const Real h = 1e-6L * (p[j] != 0 ? std::fabs(static_cast<Real>(p[j])) : 1.0L);
    std::vector<Real> up(p.begin(), p.end()), down(p.begin(), p.end());
    up[j] += h;
    down[j] -= h;
    out.push_back((f(x, up) - f(x, down)) / (up[j] - down[j]));
  }
  return out;
}

inline std::vector<std::vector<Real>> inverse(std::vector<std::vector<Real>> A) {
  const std::size_t n = A.size();
  std::vector<std::vector<Real>> B(n, std::vector<Real>(n, 0));
  for (std::size_t i = 0; i < n; ++i) B[i][i] = 1;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k; i < n; ++i)
      if (std::fabs(A[i][k]) > std::fabs(A[pivot][k])) pivot = i;
    std::swap(A[k], A[pivot]);
    std::swap(B[k], B[pivot]);
    const Real d = A[k][k];
    for (std::size_t j = 0; j < n; ++j) A[k][j] /= d, B[k][j] /= d;
    for (std::size_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const Real factor = A[i][k];
      for (std::size_t j = 0; j < n; ++j) A[i][j] -= factor * A[k][j], B[i][j] -= factor * B[k][j];
    }
  }
  return B;
}

// Returns gᵀ (JᵀWJ)⁻¹ g at x0, where W has 1/sigma². Multiplied by the variance of a residual, it is var
// f(x0).
inline double variance(const Model& f, const std::vector<double>& x, const std::vector<double>& sigma,
                       const std::vector<double>& p, double x0) {
  const std::size_t n = p.size();
  std::vector<std::vector<Real>> H(n, std::vector<Real>(n, 0));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::vector<Real> g = gradient(f, x[i], p);
    const Real s = sigma.empty() ? 1 : sigma[i];
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = 0; b < n; ++b) H[a][b] += g[a] * g[b] / (s * s);
  }
  const auto C = inverse(H);
  const std::vector<Real> g = gradient(f, x0, p);
  Real sum = 0;
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b) sum += g[a] * C[a][b] * g[b];
  return static_cast<double>(sum);
}

}  // namespace reference
