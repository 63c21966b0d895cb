// Singular values of a small square matrix, with what least squares makes of them.
#pragma once

#include <cstddef>

namespace nlsq::inline v0 {

// R = U diag(values) Vᵀ, n x n, column-major; values fall. Fills V (n x n, column-major) and
// projected = Uᵀz; where a value is 0 so is its projection. R is destroyed. Columns of very different lengths
// cost no digits of small values, for any n; it takes some 80 n³ operations.
void small_svd(double* R, std::size_t n, const double* z, double* values, double* V, double* projected);

}  // namespace nlsq::inline v0
