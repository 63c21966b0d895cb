// Computes the singular value decomposition of a small square matrix, and least squares with columns that may
// depend on each other. The certificate uses it, as do starting values of linear parameters.
#pragma once

#include <cstddef>

namespace nlsq::inline v0 {

// Decomposes R = U diag(values) Vᵀ, n x n, column-major, with decreasing values. Fills V (n x n,
// column-major) and projected = Uᵀz, with 0 where a value is 0. Destroys R. Small values keep their digits
// even if the norms of the columns are very different, for any n. Takes about 80 n³ operations.
void small_svd(double* R, std::size_t n, const double* z, double* values, double* V, double* projected);

// Computes x, the shortest of the vectors that minimise |Ax - b|. A is rows x columns, column-major, with
// rows >= columns. Directions with a singular value of at most `threshold` times the largest remain 0.
// Destroys A and b. Returns false if x is not finite.
bool shortest_solution(double* A, std::size_t rows, std::size_t columns, double* b, double threshold,
                       double* x);

}  // namespace nlsq::inline v0
