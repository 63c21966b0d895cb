// Factors of symmetric matrices with many columns, by blocks of columns. The kernels compute the products,
// and threads share them. The result does not depend on the number of threads. LinearSolver and the
// certificate use it.
//
// Upper triangles are stored by columns: R(i, j), i <= j, at R[j * n + i].
#pragma once

#include "kernels/kernel_table.hpp"

#include <nlsq/options.hpp>

#include <cstddef>

namespace nlsq::inline v0 {

// For fewer parameters than this, simpler code is faster.
inline constexpr std::size_t kWide = 128;

// Overwrites the upper triangle of the symmetric A with R, where RᵀR = A. The part below the diagonal is
// neither read nor written. Returns false if a pivot is not positive or not a number. Throws only
// std::bad_alloc.
bool factor_wide(double* A, std::size_t n, const Parallelism& threads);

// Computes X = R⁻¹ by rows: row i is at X + i * n, and is zero before column i.
void invert_wide(const double* R, std::size_t n, double* X, const Parallelism& threads);

// Computes L(i, j) = R(j, i), i >= j, at L[j * n + i]. Above the diagonal, L gets the numbers that R has
// below it.
void transpose_wide(const double* R, std::size_t n, double* L);

// Computes C := X Xᵀ for an X as above, in full.
void square_wide(const double* X, std::size_t n, double* C, const Parallelism& threads);

// The functions below do QR of triangles with many columns by the kernels' blocked QR. Triangles are stored
// by rows in full squares that are zero below the diagonal. The passes use them, too. fold_triangle adds SᵀS
// to RᵀR for another triangle S of the same n columns, in a third of the operations of n full rows.
void fold_triangle(double* R, const double* S, std::size_t n, KernelCounters& counters);

// Adds D² to RᵀR for a diagonal D with `count` <= n entries; the columns after them do not change.
void fold_diagonal(double* R, const double* diagonal, std::size_t count, std::size_t n,
                   KernelCounters& counters);

// Computes packed = RᵀR, the upper triangle by rows, n (n + 1) / 2 numbers.
void square_triangle(const double* R, std::size_t n, double* packed);

}  // namespace nlsq::inline v0
