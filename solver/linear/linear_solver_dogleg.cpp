// Computes steps on Powell's dogleg path (M. J. D. Powell, A hybrid method for nonlinear equations, 1970;
// Nocedal, Wright, Numerical Optimization, 2006, section 4.1). The path has two straight parts. The first
// goes from x along the steepest descent to the model's minimum in that direction, and the second goes from
// there to the model's minimum. Along the whole path the model decreases and the distance from x grows. So
// there is one point at any given distance from x.
#include "linear/linear_solver_impl.hpp"

#include <cmath>

namespace nlsq::inline v0 {

double LinearSolver::Impl::curvature(const DenseVector& v) const {
  if (R.size() > 0) return (all().R.triangularView<Eigen::Upper>() * v).squaredNorm();
  return v.dot(all().H * v);
}

bool LinearSolver::Impl::within_room(const DenseVector& v) const {
  for (Eigen::Index j = 0; j < v.size(); ++j) {
    if (v[j] < limit(j, Held::lower) || v[j] > limit(j, Held::upper)) return false;
  }
  return true;
}

void LinearSolver::shorten_to_radius(double radius, Step& step) const {
  const Impl& m = *impl_;
  if (!step.factored || !(step.scaled_norm > radius)) return;
  const DenseVector& g = m.all().g;
  const DenseVector& inverse_scale = m.all().inverse_scale;
  const DenseVector whole =
      Eigen::Map<const DenseVector>(step.step.data(), g.size()).cwiseQuotient(inverse_scale);
  DenseVector drawn = whole * (radius / step.scaled_norm);
  const double curvature = m.curvature(g);
  if (step.held.empty() && curvature > 0) {
    const DenseVector downhill = -g * (g.squaredNorm() / curvature), rest = whole - downhill;
    const double far = downhill.norm();
    DenseVector bent = downhill * (radius / far);
    if (far < radius) {  // solves ‖downhill + t rest‖ = radius for t without cancellation
      const double a = rest.squaredNorm(), b = downhill.dot(rest), c = (radius - far) * (radius + far);
      const double root = std::sqrt(b * b + a * c);
      bent = downhill + rest * (b > 0 ? c / (b + root) : (root - b) / a);
    }
    if (bent.allFinite() && (!m.room_given || m.within_room(bent))) drawn = bent;
  }
  for (std::size_t j = 0; j < step.held.size(); ++j) {  // the shortened step no longer ends on this bound
    if (whole[static_cast<Eigen::Index>(j)] != 0) step.held[j] = Held::none;
  }
  Eigen::Map<DenseVector>(step.step.data(), g.size()) = drawn.cwiseProduct(inverse_scale);
  step.scaled_norm = drawn.norm();
  step.predicted = -(g.dot(drawn) + 0.5 * m.curvature(drawn));
}

}  // namespace nlsq::inline v0
