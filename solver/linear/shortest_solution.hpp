// Least squares with columns that may depend on each other. Starts with linear parameters use it.
#pragma once

#include <cstddef>

namespace nlsq::inline v0 {

// Computes x, the shortest of the vectors that minimise |Ax - b|. A is rows x columns, column-major, with
// rows >= columns. Directions with a singular value of at most `threshold` times the largest stay 0. Destroys
// A and b. Returns false if x is not finite.
bool shortest_solution(double* A, std::size_t rows, std::size_t columns, double* b, double threshold,
                       double* x);

}  // namespace nlsq::inline v0
