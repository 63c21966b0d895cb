// The singular value decomposition of a small square matrix, and the projection that least squares needs. The
// certificate uses it.
#pragma once

#include <cstddef>

namespace nlsq::inline v0 {

// R = U diag(values) Vᵀ, n x n, column-major, with decreasing values. Fills V (n x n, column-major) and
// projected = Uᵀz, with 0 where a value is 0. Destroys R. Columns of very different norms cost no digits of
// small values, for any n. Takes about 80 n³ operations.
void small_svd(double* R, std::size_t n, const double* z, double* values, double* V, double* projected);

}  // namespace nlsq::inline v0
