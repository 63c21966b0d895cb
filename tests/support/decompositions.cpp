#include "decompositions.hpp"

#include <Eigen/Dense>

namespace decompositions {

Dense least_squares(const Dense& A, const Dense& B) { return A.colPivHouseholderQr().solve(B); }
WideDense least_squares(const WideDense& A, const WideDense& B) { return A.colPivHouseholderQr().solve(B); }

Dense solve(const Dense& A, const Dense& B) { return A.partialPivLu().solve(B); }
Dense inverse(const Dense& A) { return solve(A, Dense::Identity(A.rows(), A.cols())); }

Dense cholesky(const Dense& A) { return A.llt().matrixL(); }

Qr qr(const Dense& A) {
  const Eigen::HouseholderQR<Dense> factor(A);
  return {factor.householderQ() * Dense::Identity(A.rows(), A.cols()),
          factor.matrixQR().topRows(A.cols()).triangularView<Eigen::Upper>()};
}

Svd svd(const Dense& A) {
  const Eigen::JacobiSVD<Dense> factor(A, Eigen::ComputeThinU | Eigen::ComputeThinV);
  return {factor.matrixU(), factor.matrixV(), factor.singularValues()};
}

}  // namespace decompositions
