#include "determined_subspace.hpp"

#include "small_dense.hpp"
#include "small_svd.hpp"
#include "wide_factor.hpp"

#include <nlsq/local_buffer.hpp>

#include <Eigen/Core>

#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

namespace {

constexpr double kU = 0x1p-53;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kFew = 16;  // parameters for which nothing is allocated

using DenseMatrix = Eigen::MatrixXd;
using DenseVector = Eigen::VectorXd;

// Singular values below this share of the largest are rounding: a column computed to a few units
// in the last place cannot show a smaller angle to the others.
double rank_tolerance(std::size_t n) { return 64 * kU * std::sqrt(static_cast<double>(n)); }

std::size_t rank_of(const double* values, std::size_t n) {
  std::size_t rank = 0;
  while (rank < n && values[rank] > rank_tolerance(n) * values[0]) ++rank;
  return rank;
}

void set_condition(Certificate& c, std::size_t n, double ratio, bool qr) {
  c.qr = qr;
  c.condition = c.rank == static_cast<int>(n) ? ratio * ratio : std::numeric_limits<double>::infinity();
  c.covariance_error = static_cast<double>(n) * kU * (qr ? ratio : ratio * ratio);
}

// The largest singular value of T or of its inverse by power iteration; apply(v) is T v or T⁻¹v, adjoint(v) the same of Tᵀ.
template <class Apply, class Adjoint>
double largest_by_power(Eigen::Index n, Apply apply, Adjoint adjoint) {
  constexpr int kRounds = 30;
  DenseVector v = DenseVector::LinSpaced(n, 1, 2).normalized();
  double largest = 0;
  for (int round = 0; round < kRounds; ++round) {
    const DenseVector u = apply(v);
    largest = std::max(largest, u.norm());
    v = adjoint(u);
    const double norm = v.norm();
    if (!(norm > 0)) break;
    v /= norm;
  }
  return largest;
}

// σ_max / σ_min of an upper triangle, never too large.
double triangle_condition(const Eigen::Ref<const DenseMatrix>& R) {
  const auto upper = R.triangularView<Eigen::Upper>();
  const double largest = largest_by_power(
      R.rows(), [&](const DenseVector& v) -> DenseVector { return upper * v; },
      [&](const DenseVector& v) -> DenseVector { return R.transpose().triangularView<Eigen::Lower>() * v; });
  const double inverse = largest_by_power(
      R.rows(), [&](const DenseVector& v) -> DenseVector { return upper.solve(v); },
      [&](const DenseVector& v) -> DenseVector { return R.transpose().triangularView<Eigen::Lower>().solve(v); });
  return largest * inverse;
}

// Many parameters that are clearly determined: all comes from R⁻¹, at a tenth of the cost of singular values. False,
// and nothing destroyed, where a bound of κ(R) leaves a doubt.
bool by_inverse(const ScaledTriangle& triangle, Certified& out) {
  const auto n = static_cast<Eigen::Index>(triangle.scale.size());
  const Eigen::Map<const DenseMatrix> R(triangle.R, n, n);
  if (!(R.diagonal().cwiseAbs().minCoeff() > 0)) return false;
  const Parallelism one{1, {}};
  const Parallelism& threads = triangle.threads != nullptr ? *triangle.threads : one;
  DenseMatrix rows(n, n);  // of R⁻¹, one after the other
  invert_wide(R.data(), triangle.scale.size(), rows.data(), threads);
  // ‖R‖ ‖R⁻¹‖ in Frobenius's norm: at least κ(R).
  const double most = R.norm() * rows.norm();
  if (!(most * rank_tolerance(triangle.scale.size()) < 0.1)) return false;

  const double ratio = triangle_condition(R);
  Certificate& c = out.certificate;
  c.rank = static_cast<int>(n);
  set_condition(c, triangle.scale.size(), ratio, triangle.qr);
  const Eigen::Map<const DenseVector> z(triangle.z, n), scale(triangle.scale.data(), n);
  c.decrement_sigma = z.norm();
  Eigen::Map<DenseVector>(out.step.data(), n) = -(rows.transpose() * z).cwiseQuotient(scale);
  rows.array().rowwise() /= scale.transpose().array();
  out.covariance.assign(triangle.scale.size(), triangle.scale.size(), 0.0);
  square_wide(rows.data(), triangle.scale.size(), out.covariance.data(), threads);
  return true;
}

// Null directions too small to see for the parameters they leave determined.
void by_singular_values(const ScaledTriangle& triangle, Certified& out) {
  const std::size_t n = triangle.scale.size();
  LocalBuffer<double, kFew> sv(n), projected(n);
  LocalBuffer<double, kFew * kFew> V(n * n);
  small_svd(triangle.R, n, triangle.z, sv.data(), V.data(), projected.data());
  const std::size_t rank = rank_of(sv.data(), n);

  Certificate& c = out.certificate;
  c.rank = static_cast<int>(rank);
  set_condition(c, n, rank > 0 ? sv[0] / sv[rank - 1] : 1, triangle.qr);
  c.decrement_sigma = small_dense::norm(projected.data(), rank);

  LocalBuffer<bool, kFew> determined(n);
  for (std::size_t j = 0; j < n; ++j) {
    double null_squares = 0, step = 0;
    for (std::size_t k = rank; k < n; ++k) null_squares += V[k * n + j] * V[k * n + j];
    const double null_part = std::sqrt(null_squares);
    determined[j] = null_part < 1e-6;
    if (null_part > 0.05) c.confounded.push_back(static_cast<int>(j));
    for (std::size_t k = 0; k < rank; ++k) {
      V[k * n + j] /= sv[k];
      step -= V[k * n + j] * projected[k];
    }
    out.step[j] = step / triangle.scale[j];
  }
  out.covariance.assign(n, n, kNaN);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      if (!determined[i] || !determined[j]) continue;
      double sum = 0;
      for (std::size_t k = 0; k < rank; ++k) sum += V[k * n + i] * V[k * n + j];
      out.covariance(i, j) = out.covariance(j, i) = sum / (triangle.scale[i] * triangle.scale[j]);
    }
  }
}

}  // namespace

void analyse(const ScaledTriangle& triangle, Certified& out) {
  if (triangle.scale.size() > small_dense::kMost && by_inverse(triangle, out)) return;
  by_singular_values(triangle, out);
}

double normal_condition(const ScaledTriangle& triangle) {
  const auto n = static_cast<Eigen::Index>(triangle.scale.size());
  const double ratio = triangle_condition(Eigen::Map<const DenseMatrix>(triangle.R, n, n));
  return ratio * ratio;
}

std::size_t numerical_rank(const ScaledTriangle& triangle) {
  const std::size_t n = triangle.scale.size();
  LocalBuffer<double, kFew> sv(n), projected(n);
  LocalBuffer<double, kFew * kFew> V(n * n);
  small_svd(triangle.R, n, triangle.z, sv.data(), V.data(), projected.data());
  return rank_of(sv.data(), n);
}

}  // namespace nlsq::inline v0
