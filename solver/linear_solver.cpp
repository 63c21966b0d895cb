#include "linear_solver.hpp"

#include <Eigen/Cholesky>
#include <Eigen/QR>

#include <cmath>

namespace nlsq::inline v0 {

namespace {

using DenseMatrix = Eigen::MatrixXd;
using DenseVector = Eigen::VectorXd;

constexpr int kExactInverse = 64;

double one_norm(const DenseMatrix& A) { return A.cwiseAbs().colwise().sum().maxCoeff(); }

// ‖A⁻¹‖₁ of A = LLᵀ by Hager's method (Higham, Accuracy and Stability, algorithm 15.1); a lower
// bound, nearly always within a factor 3.
double inverse_one_norm(const DenseMatrix& L) {
  const auto n = L.rows();
  const auto solve = [&](DenseVector v) {
    L.triangularView<Eigen::Lower>().solveInPlace(v);
    L.transpose().triangularView<Eigen::Upper>().solveInPlace(v);
    return v;
  };
  if (n <= kExactInverse) {
    DenseMatrix inverse = DenseMatrix::Identity(n, n);
    L.triangularView<Eigen::Lower>().solveInPlace(inverse);
    L.transpose().triangularView<Eigen::Upper>().solveInPlace(inverse);
    return one_norm(inverse);
  }
  DenseVector v = DenseVector::Constant(n, 1.0 / static_cast<double>(n));
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    const DenseVector y = solve(v);
    const double norm = y.cwiseAbs().sum();
    if (round > 0 && norm <= best) break;
    best = norm;
    const DenseVector z = solve(y.unaryExpr([](double t) { return t < 0 ? -1.0 : 1.0; }));
    Eigen::Index j = 0;
    if (z.cwiseAbs().maxCoeff(&j) <= z.dot(v)) break;
    v.setZero();
    v[j] = 1;
  }
  return best;
}

}  // namespace

struct LinearSolver::Impl {
  DenseVector inverse_scale;  // 1/D
  DenseMatrix H;              // scaled normal matrix
  DenseVector g;              // scaled gradient
  DenseMatrix R;              // scaled triangle, QR only
  DenseVector z;              // Qᵀr, QR only
  DenseMatrix L;              // of the last solve
};

Vector column_norms(const Linearization& at) {
  Vector norms(at.gradient.size());
  for (std::size_t j = 0; j < norms.size(); ++j) norms[j] = std::sqrt(at.normal(j, j));
  return norms;
}

LinearSolver::LinearSolver(const Linearization& at, const Vector& scale) : impl_(std::make_unique<Impl>()) {
  const auto n = static_cast<Eigen::Index>(scale.size());
  Impl& m = *impl_;
  m.inverse_scale = Eigen::Map<const DenseVector>(scale.data(), n).cwiseInverse();
  m.H = m.inverse_scale.asDiagonal() * Eigen::Map<const DenseMatrix>(at.normal.data(), n, n) * m.inverse_scale.asDiagonal();
  m.g = m.inverse_scale.cwiseProduct(Eigen::Map<const DenseVector>(at.gradient.data(), n));
  if (at.triangle.empty()) return;
  m.R.setZero(n, n);
  m.z.resize(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = i; j < n; ++j) {
      m.R(i, j) = at.triangle(static_cast<std::size_t>(i), static_cast<std::size_t>(j)) * m.inverse_scale[j];
    }
    m.z[i] = at.triangle(static_cast<std::size_t>(i), static_cast<std::size_t>(n));
  }
}

LinearSolver::~LinearSolver() = default;
LinearSolver::LinearSolver(LinearSolver&&) noexcept = default;
LinearSolver& LinearSolver::operator=(LinearSolver&&) noexcept = default;

Step LinearSolver::solve(double lambda) {
  Impl& m = *impl_;
  const auto n = m.g.size();
  Step out;
  DenseVector s(n);
  if (m.R.size() == 0) {
    DenseMatrix A = m.H;
    A.diagonal().array() += lambda;
    const Eigen::LLT<DenseMatrix> factor(A);
    if (factor.info() != Eigen::Success) return out;
    m.L = factor.matrixL();
    out.condition = one_norm(A) * inverse_one_norm(m.L);
    s = m.g;
    m.L.triangularView<Eigen::Lower>().solveInPlace(s);
    out.nu = s.norm();
    m.L.transpose().triangularView<Eigen::Upper>().solveInPlace(s);
    s = -s;
  } else {
    DenseMatrix A = DenseMatrix::Zero(2 * n, n);
    A.topRows(n) = m.R;
    A.bottomRows(n).diagonal().setConstant(std::sqrt(lambda));
    DenseVector rhs = DenseVector::Zero(2 * n);
    rhs.head(n) = m.z;
    const Eigen::HouseholderQR<DenseMatrix> factor(A);
    rhs = factor.householderQ().transpose() * rhs;
    const DenseMatrix R = factor.matrixQR().topRows(n).triangularView<Eigen::Upper>();
    if (!(R.diagonal().cwiseAbs().minCoeff() > 0)) return out;
    m.L = R.transpose();
    const double norm = one_norm(R.transpose() * R);
    out.condition = norm * inverse_one_norm(m.L);
    out.nu = rhs.head(n).norm();
    s = -R.triangularView<Eigen::Upper>().solve(rhs.head(n));
  }
  out.factored = s.allFinite() && std::isfinite(out.condition);
  if (!out.factored) return out;
  out.scaled_norm = s.norm();
  out.predicted = 0.5 * (lambda * s.squaredNorm() - m.g.dot(s));
  out.step.resize(static_cast<std::size_t>(n));
  Eigen::Map<DenseVector>(out.step.data(), n) = m.inverse_scale.cwiseProduct(s);
  return out;
}

Vector LinearSolver::apply_inverse(const Vector& v) const {
  const Impl& m = *impl_;
  DenseVector s = m.inverse_scale.cwiseProduct(Eigen::Map<const DenseVector>(v.data(), m.g.size()));
  m.L.triangularView<Eigen::Lower>().solveInPlace(s);
  m.L.transpose().triangularView<Eigen::Upper>().solveInPlace(s);
  Vector out(v.size());
  Eigen::Map<DenseVector>(out.data(), m.g.size()) = -m.inverse_scale.cwiseProduct(s);
  return out;
}

double LinearSolver::norm_in_metric(const Vector& v) const {
  const Impl& m = *impl_;
  DenseVector s = m.inverse_scale.cwiseProduct(Eigen::Map<const DenseVector>(v.data(), m.g.size()));
  m.L.triangularView<Eigen::Lower>().solveInPlace(s);
  return s.norm();
}

double LinearSolver::rms_in_metric(const Matrix& covariance) const {
  const Impl& m = *impl_;
  const auto n = m.g.size();
  DenseMatrix C = m.inverse_scale.asDiagonal() * Eigen::Map<const DenseMatrix>(covariance.data(), n, n) *
                  m.inverse_scale.asDiagonal();
  m.L.triangularView<Eigen::Lower>().solveInPlace(C);
  DenseMatrix Ct = C.transpose();
  m.L.triangularView<Eigen::Lower>().solveInPlace(Ct);
  return std::sqrt(std::max(0.0, Ct.trace()));
}

}  // namespace nlsq::inline v0
