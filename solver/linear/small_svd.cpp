// Implements the one-sided Jacobi SVD, and least squares by a QR factorisation and the singular values of R.
#include "linear/small_svd.hpp"

#include "dense/dense_algebra.hpp"
#include "linear/dot.hpp"
#include "linear/small_dense.hpp"
#include "support/all_finite.hpp"
#include "support/constants.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

namespace {

template <class N>
void rotate(double* a, double* b, N n, double c, double s) {
  for (std::size_t i = 0; i < n; ++i) {
    const double x = a[i], y = b[i];
    a[i] = c * x - s * y;
    b[i] = s * x + c * y;
  }
}

// Hestenes's one-sided Jacobi method: rotates pairs of columns until all are orthogonal. It finds small
// singular values as accurately as the columns determine them (Demmel and Veselic, SIAM J. Matrix Anal. 13,
// 1992).
template <class N>
void orthogonalise(double* W, double* V, N n) {
  constexpr int kSweeps = 40;
  const double tolerance = kUnitRoundoff * static_cast<double>(n);
  bool rotated = true;
  for (int sweep = 0; sweep < kSweeps && rotated; ++sweep) {
    rotated = false;
    for (std::size_t p = 0; p + 1 < n; ++p) {
      for (std::size_t q = p + 1; q < n; ++q) {
        double *a = W + p * n, *b = W + q * n;
        const double aa = dot(a, a, n), bb = dot(b, b, n), ab = dot(a, b, n);
        if (!(std::fabs(ab) > tolerance * std::sqrt(aa * bb))) continue;
        rotated = true;
        const double zeta = (bb - aa) / (2 * ab);
        const double t = std::copysign(1 / (std::fabs(zeta) + std::sqrt(1 + zeta * zeta)), zeta);
        const double c = 1 / std::sqrt(1 + t * t), s = c * t;
        rotate(a, b, n, c, s);
        rotate(V + p * n, V + q * n, n, c, s);
      }
    }
  }
}

}  // namespace

void small_svd(double* W, std::size_t n, const double* z, double* values, double* V, double* projected) {
  std::fill(V, V + n * n, 0.0);
  for (std::size_t j = 0; j < n; ++j) V[j * n + j] = 1;
  small_dense::with_constant(n, [&](auto size) { orthogonalise(W, V, size); });
  for (std::size_t k = 0; k < n; ++k) {
    values[k] = small_dense::norm(W + k * n, n);
    projected[k] = values[k] > 0 ? dot(W + k * n, z, n) / values[k] : 0;
  }
  for (std::size_t k = 0; k + 1 < n; ++k) {
    const auto top = static_cast<std::size_t>(std::max_element(values + k, values + n) - values);
    if (top == k) continue;
    std::swap(values[k], values[top]);
    std::swap(projected[k], projected[top]);
    std::swap_ranges(V + k * n, V + (k + 1) * n, V + top * n);
  }
}

bool shortest_solution(double* A, std::size_t rows, std::size_t columns, double* b, double threshold,
                       double* x) {
  const std::size_t n = columns;
  dense::householder_qr(A, rows, n, b);
  std::vector<double> R(n * n), V(n * n), values(n), projected(n);
  for (std::size_t j = 0; j < n; ++j) std::copy_n(A + j * rows, j + 1, &R[j * n]);
  small_svd(R.data(), n, b, values.data(), V.data(), projected.data());
  std::fill_n(x, n, 0.0);
  for (std::size_t i = 0; i < n && !(values[i] <= threshold * values[0]); ++i) {
    for (std::size_t j = 0; j < n; ++j) x[j] += V[i * n + j] * (projected[i] / values[i]);
  }
  return all_finite({x, n});
}

}  // namespace nlsq::inline v0
