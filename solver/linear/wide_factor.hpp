// Factors of symmetric matrices with many columns, by blocks of columns. The kernels do the products, and
// threads share them. The result does not depend on their number. LinearSolver and the certificate use it.
//
// Upper triangles are stored by columns: R(i, j), i <= j, at R[j * n + i].
#pragma once

#include <nlsq/options.hpp>

#include <cstddef>

namespace nlsq::inline v0 {

// With fewer parameters simpler code is faster.
inline constexpr std::size_t kWide = 128;

// Overwrites the upper triangle of the symmetric A with R, RᵀR = A. The part below the diagonal is neither
// read nor written. Returns false if a pivot is not positive or not a number. Throws only std::bad_alloc.
bool factor_wide(double* A, std::size_t n, const Parallelism& threads);

// X = R⁻¹ by rows: row i at X + i * n, zero before column i.
void invert_wide(const double* R, std::size_t n, double* X, const Parallelism& threads);

// L(i, j) = R(j, i), i >= j, at L[j * n + i]. Above the diagonal, L gets whatever R has below it.
void transpose_wide(const double* R, std::size_t n, double* L);

// C := X Xᵀ for such an X, in full.
void square_wide(const double* X, std::size_t n, double* C, const Parallelism& threads);

}  // namespace nlsq::inline v0
