// Implements the conjugate gradient iteration.
#include "linear/conjugate_gradients.hpp"

#include "linear/dot.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace nlsq::inline v0 {

CgResult ConjugateGradients::solve(const Operator& A, const Operator& precondition, std::span<const double> b,
                                   std::span<double> x, const CgGoal& goal) {
  CgResult out;
  const std::size_t n = b.size();
  r_.assign(b.begin(), b.end());
  z_.resize(n);
  Ap_.resize(n);
  std::ranges::fill(x, 0.0);
  precondition(r_, z_);
  p_ = z_;
  double rz = dot(r_, z_), gained = 0;  // gained is -2 Q
  const double first = rz;
  out.definite = std::isfinite(rz) && rz >= 0;
  out.reached = rz == 0;
  while (out.definite && !out.reached && out.iterations < goal.most) {
    A(p_, Ap_);
    const double curvature = dot(p_, Ap_);
    if (!(curvature > 0)) {
      out.definite = false;
      break;
    }
    const double alpha = rz / curvature, gain = alpha * rz;
    for (std::size_t i = 0; i < n; ++i) x[i] += alpha * p_[i];
    for (std::size_t i = 0; i < n; ++i) r_[i] -= alpha * Ap_[i];
    gained += gain;
    ++out.iterations;
    precondition(r_, z_);
    const double next = dot(r_, z_);
    if (!(std::isfinite(next) && next >= 0)) {
      out.definite = false;
      break;
    }
    out.reached = out.iterations * gain <= goal.eta * gained && next <= goal.residual * goal.residual * first;
    const double beta = next / rz;
    rz = next;
    for (std::size_t i = 0; i < n; ++i) p_[i] = z_[i] + beta * p_[i];
  }
  out.leftover = dot(x, r_);
  return out;
}

}  // namespace nlsq::inline v0
