// Declares Eigen's decompositions of dense matrices as plain functions, with which tests compare. They are
// compiled once, in decompositions.cpp, because a compiler takes many seconds for each of them in every file
// that names it.
#pragma once

#include <Eigen/Core>

namespace decompositions {

using Dense = Eigen::MatrixXd;
using WideDense = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;

// Returns X that minimises ‖A X - B‖, column by column, by QR with column pivoting.
Dense least_squares(const Dense& A, const Dense& B);
WideDense least_squares(const WideDense& A, const WideDense& B);

// These return the solution of A X = B, and A⁻¹, by LU with partial pivoting.
Dense solve(const Dense& A, const Dense& B);
Dense inverse(const Dense& A);

// Returns L of A = LLᵀ, for A symmetric and positive definite.
Dense cholesky(const Dense& A);

// Computes A = QR by Householder reflections. A is m × n with m >= n; Q is m × n, R is n × n with any signs
// on its diagonal.
struct Qr {
  Dense Q, R;
};
Qr qr(const Dense& A);

// Computes A = U diag(values) Vᵀ with min(m, n) singular values, the largest first.
struct Svd {
  Dense U, V;
  Eigen::VectorXd values;
};
Svd svd(const Dense& A);

}  // namespace decompositions
