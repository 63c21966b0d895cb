// Dense linear algebra on column-major arrays of doubles, for any number of columns. dense_algebra.cpp is the
// only file that instantiates Eigen's decompositions and triangular solvers: they take seconds to compile
// wherever they are used. small_dense.hpp has the same for a few columns.
#pragma once

#include <cstddef>
#include <string>

namespace nlsq::inline v0::dense {

double dot(const double* a, const double* b, std::size_t n);
double norm(const double* v, std::size_t n);

// A = LLᵀ, n x n, of which the lower triangle is read. L takes the place of A, with zeros above its diagonal.
// False where A is not numerically positive definite.
bool cholesky(double* A, std::size_t n);

// A = QR, rows x columns, by Householder reflections. R takes the place of A's upper triangle; below it lie
// the reflections. b := Qᵀb unless b is null.
void householder_qr(double* A, std::size_t rows, std::size_t columns, double* b = nullptr);

// B := L⁻¹B and B := L⁻ᵀB, L the lower triangle of an n x n array, B n x columns.
void solve_lower(const double* L, std::size_t n, double* B, std::size_t columns = 1);
void solve_lower_transposed(const double* L, std::size_t n, double* B, std::size_t columns = 1);

// v := R⁻¹v and v := R⁻ᵀv, R the upper triangle of an n x n array whose columns are `stride` apart.
void solve_upper(const double* R, std::size_t n, double* v);
void solve_upper_transposed(const double* R, std::size_t n, std::size_t stride, double* v);

// out = Rv and out = Rᵀv, R as above with stride n. `out` is not v.
void multiply_upper(const double* R, std::size_t n, const double* v, double* out);
void multiply_upper_transposed(const double* R, std::size_t n, const double* v, double* out);

// out = Aᵀv, A n x n. `out` is not v.
void multiply_transposed(const double* A, std::size_t n, const double* v, double* out);

// out = AᵀA, A n x n.
void square(const double* A, std::size_t n, double* out);

// A symmetric, n x n, becomes its eigenvectors, by columns. False where they are not found.
bool symmetric_eigen(double* A, std::size_t n, double* values);

std::string eigen_version();

}  // namespace nlsq::inline v0::dense
