// Limits the length of a step. The loop reports whether each step was accepted, rejected or invalid.
//
// Damped steps are limited by λ, which follows Nielsen's rule (Damping parameter in Marquardt's method,
// IMM-REP-1999-05): λ falls smoothly with the gain ratio and grows faster with every rejection in a row.
// Dogleg steps are limited by a radius, which changes as in Nocedal, Wright, Numerical Optimization, 2006,
// algorithm 4.1, but with Ceres's factors 1/2 and 3; λ then only keeps a singular matrix from failing.
#pragma once

#include <algorithm>

namespace nlsq::inline v0 {

class TrustRegion {
 public:
  static constexpr double kMin = 1e-20, kMax = 1e20;
  static constexpr double kGrowth = 2;  // factor of λ at the first of several rejections

  explicit TrustRegion(double lambda, double growth = kGrowth) : lambda_(lambda), growth_(growth) {}

  double lambda() const { return lambda_; }
  double growth() const { return growth_; }
  // Returns true if no smaller step is left to try.
  bool exhausted() const { return lambda_ >= kMax || (by_radius() && radius_ <= kMin * first_radius_); }

  bool by_radius() const { return first_radius_ > 0; }
  double radius() const { return radius_; }  // limit on ‖D step‖
  void start_radius(double radius) { radius_ = first_radius_ = good_radius_ = radius; }
  // Allows steps of at least `length`.
  void reach(double length) { radius_ = std::max(radius_, length); }
  void accepted(double rho, double length) {
    if (!by_radius()) return accepted(rho);
    if (rho < 0.25) radius_ = 0.5 * length;
    else if (rho > 0.75) reach(3 * length);
    good_radius_ = radius_;
    lambda_ = std::max(kMin, lambda_ / 10);
  }
  // Undoes the effect of the rejections since the last accepted step on the radius. It does nothing for
  // damped steps, because callers restore λ themselves.
  void forgive() { reach(good_radius_); }
  void rejected(double length, bool finite) {
    if (by_radius()) radius_ = std::min(radius_, length) * (finite ? 0.5 : 0.1);
    else finite ? rejected() : invalid();
  }

  // The kernel lane_take (jacobian/kernels) has the same rule for fits in lanes.
  void accepted(double rho) {
    const double t = 2 * std::min(rho, 1.0) - 1;
    lambda_ = std::max(kMin, lambda_ * std::max(1.0 / 3, 1 - t * t * t));
    growth_ = kGrowth;
  }
  void rejected() {
    lambda_ = std::min(kMax, std::max(lambda_, 1e-12) * growth_);
    growth_ *= 2;
  }
  // Handles a trial point without finite residuals. The model is useless so far from x.
  void invalid() {
    lambda_ = std::min(kMax, std::max(lambda_, 1e-4) * 10);
    growth_ = kGrowth;
  }
  // Sets λ directly, for example after a change of precision or where the matrix needs more damping. Earlier
  // rejections then no longer count for its growth.
  void restore(double lambda) {
    lambda_ = lambda;
    growth_ = kGrowth;
  }

 private:
  double lambda_;
  double growth_;
  double radius_ = 0, first_radius_ = 0;  // 0 for damped steps
  double good_radius_ = 0;                // after the last accepted step
};

}  // namespace nlsq::inline v0
