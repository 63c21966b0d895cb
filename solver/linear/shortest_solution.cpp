// Implements shortest_solution(): a QR factorisation, and the singular values of R.
#include "linear/shortest_solution.hpp"

#include "dense/dense_algebra.hpp"
#include "linear/small_svd.hpp"
#include "support/all_finite.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace nlsq::inline v0 {

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
