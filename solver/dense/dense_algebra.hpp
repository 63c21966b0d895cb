// Dense linear algebra on column-major arrays of doubles, for any number of columns; the solvers and
// certificates use it. Only dense_algebra.cpp instantiates Eigen's decompositions and triangular solvers,
// because they take seconds to compile in each file that does. small_dense.hpp contains the same operations
// for a few columns.
#pragma once

#include <cstddef>
#include <string>

namespace nlsq::inline v0::dense {

double dot(const double* a, const double* b, std::size_t n);
double norm(const double* v, std::size_t n);

// Factors A = LLᵀ, n x n, from its lower triangle. Overwrites A with L and zeros above its diagonal. Returns
// false if A is not numerically positive definite.
bool cholesky(double* A, std::size_t n);

// Factors A = QR, rows x columns, by Householder reflections. R replaces the upper triangle of A, and the
// reflections replace the rest. Overwrites b with Qᵀb unless b is null.
void householder_qr(double* A, std::size_t rows, std::size_t columns, double* b = nullptr);

// Does the same with columns exchanged, so that the diagonal of R decreases: column k of QR is column
// order[k] of A.
void pivoted_qr(double* A, std::size_t rows, std::size_t columns, std::size_t* order, double* b);

// Computes B := L⁻¹B and B := L⁻ᵀB, where L is the lower triangle of an n x n array and B is n x columns.
void solve_lower(const double* L, std::size_t n, double* B, std::size_t columns = 1);
void solve_lower_transposed(const double* L, std::size_t n, double* B, std::size_t columns = 1);

// Computes v := R⁻¹v and v := R⁻ᵀv, where R is the upper triangle of an n x n array whose columns are
// `stride` apart.
void solve_upper(const double* R, std::size_t n, double* v);
void solve_upper_transposed(const double* R, std::size_t n, std::size_t stride, double* v);

// Computes out = Rv and out = Rᵀv, with R as above and stride n. `out` must not be v.
void multiply_upper(const double* R, std::size_t n, const double* v, double* out);
void multiply_upper_transposed(const double* R, std::size_t n, const double* v, double* out);

// Computes out = Aᵀv for an n x n matrix A. `out` must not be v.
void multiply_transposed(const double* A, std::size_t n, const double* v, double* out);

// Computes out = AᵀA for an n x n matrix A.
void square(const double* A, std::size_t n, double* out);

// Overwrites the symmetric n x n matrix A with its eigenvectors, by columns. Returns false if it fails.
bool symmetric_eigen(double* A, std::size_t n, double* values);

std::string eigen_version();

}  // namespace nlsq::inline v0::dense
