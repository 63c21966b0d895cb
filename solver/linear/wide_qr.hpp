// Triangles of many columns, made by the kernels' blocked QR; by rows, full square storage, zero below the
// diagonal.
#pragma once

#include "kernels/kernel_table.hpp"

#include <cstddef>

namespace nlsq::inline v0 {

// RᵀR += SᵀS of another triangle S of the same n columns, in a third of the operations that n full rows take.
void fold_triangle(double* R, const double* S, std::size_t n, KernelCounters& counters);

// RᵀR += D², D diagonal with `count` <= n entries; for the columns after them nothing is added.
void fold_diagonal(double* R, const double* diagonal, std::size_t count, std::size_t n,
                   KernelCounters& counters);

// RᵀR as upper triangle by rows, n (n + 1) / 2 numbers.
void square_triangle(const double* R, std::size_t n, double* packed);

}  // namespace nlsq::inline v0
