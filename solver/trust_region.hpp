// The damping λ: who judges a step tells it what happened, and it says how bold the next may be.
//
// Nielsen's rule (Damping parameter in Marquardt's method, IMM-REP-1999-05): λ falls smoothly with
// the gain ratio, and grows faster with every rejection in a row.
#pragma once

#include <algorithm>

namespace nlsq::inline v0 {

class TrustRegion {
 public:
  static constexpr double kMin = 1e-20, kMax = 1e20;

  explicit TrustRegion(double lambda) : lambda_(lambda) {}

  double lambda() const { return lambda_; }
  // No step is small enough any more.
  bool exhausted() const { return lambda_ >= kMax; }

  void accepted(double rho) {
    const double t = 2 * std::min(rho, 1.0) - 1;
    lambda_ = std::max(kMin, lambda_ * std::max(1.0 / 3, 1 - t * t * t));
    growth_ = 2;
  }
  void rejected() {
    lambda_ = std::min(kMax, std::max(lambda_, 1e-12) * growth_);
    growth_ *= 2;
  }
  // The trial point has no finite residuals: the model is worthless that far out.
  void invalid() {
    lambda_ = std::min(kMax, std::max(lambda_, 1e-4) * 10);
    growth_ = 2;
  }
  // Precision changed at the same x: rejections of the old precision do not count.
  void restore(double lambda) {
    lambda_ = lambda;
    growth_ = 2;
  }

 private:
  double lambda_;
  double growth_ = 2;
};

}  // namespace nlsq::inline v0
