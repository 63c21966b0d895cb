// QR of triangles with many columns by the kernels' blocked QR. The passes and LinearSolver use it. Triangles
// are stored by rows in full squares, zero below the diagonal.
#pragma once

#include "kernels/kernel_table.hpp"

#include <cstddef>

namespace nlsq::inline v0 {

// RᵀR += SᵀS for another triangle S of the same n columns, in a third of the operations of n full rows.
void fold_triangle(double* R, const double* S, std::size_t n, KernelCounters& counters);

// RᵀR += D² for a diagonal D with `count` <= n entries; the columns after them do not change.
void fold_diagonal(double* R, const double* diagonal, std::size_t count, std::size_t n,
                   KernelCounters& counters);

// packed = RᵀR, the upper triangle by rows, n (n + 1) / 2 numbers.
void square_triangle(const double* R, std::size_t n, double* packed);

}  // namespace nlsq::inline v0
