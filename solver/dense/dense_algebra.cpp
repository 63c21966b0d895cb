// Implements dense_algebra.hpp by calls of Eigen.
#include "dense/dense_algebra.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/Householder>
#include <Eigen/QR>

#include <fmt/format.h>

namespace nlsq::inline v0::dense {

namespace {

using Eigen::Lower, Eigen::Upper, Eigen::MatrixXd, Eigen::VectorXd;
using Matrix = Eigen::Map<const MatrixXd>;
using Strided = Eigen::Map<const MatrixXd, 0, Eigen::OuterStride<>>;
using Vector = Eigen::Map<VectorXd>;
using ConstVector = Eigen::Map<const VectorXd>;

Eigen::Index index(std::size_t n) { return static_cast<Eigen::Index>(n); }
Matrix square_view(const double* A, std::size_t n) { return {A, index(n), index(n)}; }
Vector view(double* v, std::size_t n) { return {v, index(n)}; }
ConstVector view(const double* v, std::size_t n) { return {v, index(n)}; }

}  // namespace

double dot(const double* a, const double* b, std::size_t n) { return view(a, n).dot(view(b, n)); }
double norm(const double* v, std::size_t n) { return view(v, n).norm(); }

bool cholesky(double* A, std::size_t n) {
  Eigen::Map<MatrixXd> map(A, index(n), index(n));
  Eigen::Ref<MatrixXd> in_place(map);
  const Eigen::LLT<Eigen::Ref<MatrixXd>> factor(in_place);
  if (factor.info() != Eigen::Success) return false;
  map.triangularView<Eigen::StrictlyUpper>().setZero();
  return true;
}

void householder_qr(double* A, std::size_t rows, std::size_t columns, double* b) {
  Eigen::Map<MatrixXd> map(A, index(rows), index(columns));
  Eigen::Ref<MatrixXd> in_place(map);
  const Eigen::HouseholderQR<Eigen::Ref<MatrixXd>> factor(in_place);
  if (b != nullptr) view(b, rows).applyOnTheLeft(factor.householderQ().transpose());
}

void pivoted_qr(double* A, std::size_t rows, std::size_t columns, std::size_t* order, double* b) {
  Eigen::Map<MatrixXd> map(A, index(rows), index(columns));
  Eigen::Ref<MatrixXd> in_place(map);
  const Eigen::ColPivHouseholderQR<Eigen::Ref<MatrixXd>> factor(in_place);
  view(b, rows).applyOnTheLeft(factor.householderQ().transpose());
  for (std::size_t k = 0; k < columns; ++k)
    order[k] = static_cast<std::size_t>(factor.colsPermutation().indices()[index(k)]);
}

bool symmetric_eigen(double* A, std::size_t n, double* values) {
  Eigen::Map<MatrixXd> map(A, index(n), index(n));
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(map);
  if (eigen.info() != Eigen::Success) return false;
  map = eigen.eigenvectors();
  view(values, n) = eigen.eigenvalues();
  return true;
}

void solve_lower(const double* L, std::size_t n, double* B, std::size_t columns) {
  const auto lower = square_view(L, n).triangularView<Lower>();
  if (columns == 1) return lower.solveInPlace(view(B, n));
  lower.solveInPlace(Eigen::Map<MatrixXd>(B, index(n), index(columns)));
}

void solve_lower_transposed(const double* L, std::size_t n, double* B, std::size_t columns) {
  const Matrix square = square_view(L, n);
  const auto upper = square.transpose().triangularView<Upper>();
  if (columns == 1) return upper.solveInPlace(view(B, n));
  upper.solveInPlace(Eigen::Map<MatrixXd>(B, index(n), index(columns)));
}

void solve_upper(const double* R, std::size_t n, double* v) {
  square_view(R, n).triangularView<Upper>().solveInPlace(view(v, n));
}

void solve_upper_transposed(const double* R, std::size_t n, std::size_t stride, double* v) {
  const Strided upper(R, index(n), index(n), Eigen::OuterStride<>(index(stride)));
  upper.transpose().triangularView<Lower>().solveInPlace(view(v, n));
}

void multiply_upper(const double* R, std::size_t n, const double* v, double* out) {
  view(out, n).noalias() = square_view(R, n).triangularView<Upper>() * view(v, n);
}

void multiply_upper_transposed(const double* R, std::size_t n, const double* v, double* out) {
  view(out, n).noalias() = square_view(R, n).transpose().triangularView<Lower>() * view(v, n);
}

void multiply_transposed(const double* A, std::size_t n, const double* v, double* out) {
  view(out, n).noalias() = square_view(A, n).transpose() * view(v, n);
}

void square(const double* A, std::size_t n, double* out) {
  const Matrix factor = square_view(A, n);
  Eigen::Map<MatrixXd>(out, index(n), index(n)).noalias() = factor.transpose() * factor;
}

std::string eigen_version() {
  return fmt::format("{}.{}.{}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
}

}  // namespace nlsq::inline v0::dense
