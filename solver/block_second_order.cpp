#include "block_second_order.hpp"

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

using Dense = Eigen::MatrixXd;
using Numbers = Eigen::VectorXd;

constexpr double kShift = 0x1p-17;     // of a parameter: third derivatives and rounding weigh alike
constexpr double kLeastCurvature = 1e-9;  // of the largest

// Differences of the gradient along one tangent number, within the bounds.
bool gradient_change(const BlockPoint& at, const GradientAt& gradient_at, std::size_t k, double shift, std::span<const double> here,
                     std::vector<double>& out) {
  std::vector<double> step(at.structure.tangent_size(), 0.0), there;
  out.assign(step.size(), 0.0);
  double span = 0;
  for (const double way : {shift, -shift}) {
    step[k] = way;
    if (at.model.plus(at.x, step, there)) continue;  // a bound: from the other side alone
    if (!gradient_at(there)) return false;
    const std::vector<double>& g = at.solver.gradient();
    for (std::size_t j = 0; j < out.size(); ++j) out[j] += way > 0 ? g[j] - here[j] : here[j] - g[j];
    span += shift;
  }
  for (double& v : out) v /= span;
  return span > 0;
}

}  // namespace

SecondOrder second_order(const BlockPoint& at, const GradientAt& gradient_at) {
  SecondOrder out;
  std::vector<std::size_t> free;
  for (std::size_t j = 0; j < at.structure.tangent_size(); ++j) {
    if (!at.is_fixed(j)) free.push_back(j);
  }
  if (free.empty() || free.size() > kMostSecondOrder) return out;
  const std::vector<double> here = at.solver.gradient(), norms = column_norms(at.solver);
  const std::vector<double> sizes = tangent_sizes(at.problem, at.structure, at.x);
  const double r = std::sqrt(2 * at.cost);
  const auto n = static_cast<Eigen::Index>(free.size());
  Dense G(n, n);
  std::vector<double> change;
  for (Eigen::Index j = 0; j < n; ++j) {
    const std::size_t k = free[static_cast<std::size_t>(j)];
    const double size = sizes[k] > 0 ? sizes[k] : std::min(1.0, r / norms[k]);
    if (!gradient_change(at, gradient_at, k, kShift * size, here, change)) return out;
    for (Eigen::Index i = 0; i < n; ++i) G(i, j) = change[free[static_cast<std::size_t>(i)]];
  }
  const Dense symmetric = 0.5 * (G + G.transpose());
  Numbers scale(n), g(n);
  for (Eigen::Index j = 0; j < n; ++j) {
    const double diagonal = std::fabs(symmetric(j, j));
    scale[j] = std::sqrt(std::max(diagonal, 1e-30 * norms[free[static_cast<std::size_t>(j)]] * norms[free[static_cast<std::size_t>(j)]]));
    g[j] = here[free[static_cast<std::size_t>(j)]];
  }
  const Dense scaled = scale.cwiseInverse().asDiagonal() * symmetric * scale.cwiseInverse().asDiagonal();
  if (!scaled.allFinite()) return out;
  const Eigen::SelfAdjointEigenSolver<Dense> eigen(scaled);
  if (eigen.info() != Eigen::Success) return out;
  const Numbers values = eigen.eigenvalues(), along = eigen.eigenvectors().transpose() * g.cwiseQuotient(scale);
  const double largest = values.cwiseAbs().maxCoeff(), least = kLeastCurvature * largest;
  if (!(largest > 0)) return out;
  out.known = true;
  out.definite = values.minCoeff() > least;
  const Numbers downhill = along.cwiseQuotient(values.cwiseAbs().cwiseMax(least));
  const Numbers step = -(eigen.eigenvectors() * downhill).cwiseQuotient(scale);
  out.decrement = std::sqrt(std::max(-step.dot(g), 0.0));
  out.step.assign(at.structure.tangent_size(), 0.0);
  for (Eigen::Index j = 0; j < n; ++j) out.step[free[static_cast<std::size_t>(j)]] = step[j];
  return out;
}

}  // namespace nlsq::inline v0
