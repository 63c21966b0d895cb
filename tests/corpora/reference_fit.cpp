// Implements the oracle: distances from the minimum and reference fits in long double.
#include "reference_fit.hpp"

#include "plain_fit.hpp"

#include <Eigen/SVD>

#include <algorithm>
#include <cmath>
#include <limits>

namespace problems {

namespace {

using Real = long double;
using Fit = PlainFit<Real>;

}  // namespace

Reference::Reference(const Problem& problem) : problem_(problem), formula_(parsed(problem)) {
  available_ = std::all_of(formula_.steps.begin(), formula_.steps.end(), known) &&
               std::all_of(formula_.response_steps.begin(), formula_.response_steps.end(), known);
}

std::vector<double> Reference::start() const {
  std::vector<double> p(formula_.parameters.size(), 1.0);
  for (const auto& [name, value] : problem_.p0) {
    const auto at = std::find(formula_.parameters.begin(), formula_.parameters.end(), name);
    p[static_cast<std::size_t>(at - formula_.parameters.begin())] = value;
  }
  return p;
}

Distance Reference::distance(const std::vector<double>& p, int wanted_rank) const {
  Distance out;
  Fit::System at;
  if (!Fit(problem_, formula_).linearize({p.begin(), p.end()}, at)) return out;
  const auto n = static_cast<Eigen::Index>(p.size());
  Fit::Matrix R = at.triangle.topLeftCorner(n, n);
  const Fit::Vector z = at.triangle.topRightCorner(n, 1);
  Fit::Vector point(n);
  const Real tail = at.triangle(n, n);
  const Real cost = (z.squaredNorm() + tail * tail) / 2;
  for (Eigen::Index j = 0; j < n; ++j) {
    const Real scale = R.col(j).norm();
    point[j] = p[static_cast<std::size_t>(j)] * scale;
    if (scale > 0) R.col(j) /= scale;
    const bool beyond = scale > 0 && scale < 1e-150L;
    out.beyond_f64 = out.beyond_f64 || beyond;
    if (beyond && wanted_rank > 0)
      R.col(j).setZero();  // a Jacobian in double does not contain this direction
  }
  const Eigen::JacobiSVD<Fit::Matrix> svd(R, Eigen::ComputeFullU | Eigen::ComputeFullV);
  const Fit::Vector& sv = svd.singularValues();
  // This is the rank that a Jacobian in double can determine, with a margin. Beyond it even exact steps mean
  // nothing.
  const Real tolerance = 1e-15L * sv[0];
  Eigen::Index rank = 0;
  while (rank < n && sv[rank] > tolerance) ++rank;
  if (wanted_rank > 0) rank = std::min<Eigen::Index>(n, wanted_rank);
  if (rank < n) out.next_singular = static_cast<double>(sv[rank] / sv[0]);
  const Fit::Vector projected = (svd.matrixU().transpose() * z).head(rank);
  Fit::Vector s = Fit::Vector::Zero(n);
  for (Eigen::Index k = 0; k < rank; ++k) s -= svd.matrixV().col(k) * (projected[k] / sv[k]);
  const auto dof = static_cast<Real>(problem_.rows()) - static_cast<Real>(rank);
  const Fit::Vector g = R.transpose() * z;
  out.cost = static_cast<double>(cost);
  out.decrement = static_cast<double>(projected.norm());
  out.sigma = dof > 0 ? static_cast<double>(std::sqrt(2 * cost / dof)) : 0;
  out.relative_step = static_cast<double>(s.norm() == 0 ? Real(0) : s.norm() / point.norm());
  out.cosine = cost > 0 ? static_cast<double>(g.cwiseAbs().maxCoeff() / std::sqrt(2 * cost)) : 0;
  out.magnitude = static_cast<double>(at.magnitude);
  const Real ratio = rank == n ? sv[0] / sv[n - 1] : std::numeric_limits<Real>::infinity();
  out.condition = static_cast<double>(ratio * ratio);
  out.rank = static_cast<int>(rank);
  out.finite = true;
  return out;
}

Reference::Minimum Reference::minimise(const std::vector<double>& p, int max_iterations) const {
  std::vector<Real> x(p.begin(), p.end());
  Real cost = std::numeric_limits<Real>::quiet_NaN();
  Minimum out;
  out.converged = Fit(problem_, formula_).minimise(x, cost, 1e-6L, 1e-16L, max_iterations);
  out.p.assign(x.begin(), x.end());
  out.cost = static_cast<double>(cost);
  return out;
}

}  // namespace problems
