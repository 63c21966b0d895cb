// Factors of symmetric matrices of many columns: blocks of columns by the kernels' products of columns,
// shared out over threads. What is computed does not depend on their number.
//
// Upper triangles by columns: R(i, j), i <= j, at R[j * n + i].
#pragma once

#include <nlsq/options.hpp>

#include <cstddef>

namespace nlsq::inline v0 {

// Fewer parameters are better served by less machinery.
inline constexpr std::size_t kWide = 128;

// R for the symmetric A, RᵀR = A, in place of A's upper triangle; what lies below the diagonal is neither
// read nor written. False: a pivot is not positive, or not a number. Throws nothing of its own
// (std::bad_alloc).
bool factor_wide(double* A, std::size_t n, const Parallelism& threads);

// R⁻¹ by rows: row i at X + i * n, zero before column i.
void invert_wide(const double* R, std::size_t n, double* X, const Parallelism& threads);

// L(i, j) = R(j, i), i >= j, at L[j * n + i]; what lies above the diagonal is whatever R has below it.
void transpose_wide(const double* R, std::size_t n, double* L);

// C := X Xᵀ for such an X, all of C.
void square_wide(const double* X, std::size_t n, double* C, const Parallelism& threads);

}  // namespace nlsq::inline v0
