// Values that pass between the loop and the system it minimizes: a step, first-order facts, a certificate
// with its tests.
#pragma once

#include "minimizer/box.hpp"

#include <nlsq/matrix.hpp>
#include <nlsq/summary.hpp>

#include <span>
#include <vector>

namespace nlsq::inline v0 {

using Vector = std::vector<double>;

struct Step {
  bool factored = false;   // numerically positive definite; else nothing below is meaningful
  Vector step;             // unscaled, to be added to x
  double scaled_norm = 0;  // ‖D step‖
  double predicted = 0;    // cost decrease of the linear model: ½(λ‖s‖² - gᵀs) >= 0, λ weighed
  double nu = 0;           // ‖L⁻¹g‖, = √(gᵀ(H+λI)⁻¹g)
  double condition =
      0;  // 1-norm condition of H + λI (n <= 64: exact inverse; beyond: Hager-Higham); 0: not known
  // Which bounds the step ends on; empty: none. Then ½ν² is what the damped model falls by, and `condition`
  // that of the other parameters' matrix.
  std::vector<Held> held;
  int linear_iterations = 0;  // of conjugate gradients; 0: solved for directly
  bool solved = true;  // false: conjugate gradients stopped short of their goal, yet the model decreases
};

// First-order quantities at x, undamped, from the normal equations alone: cheap, for the loop. Not valid
// (`usable` false) where H is numerically singular, or where they were not asked for.
struct FirstOrder {
  bool usable = false;
  double condition = 0;        // κ₀; 0: not known
  double decrement = 0;        // ν₀
  double decrement_sigma = 0;  // ν₀/σ
  double cosine = 0;           // largest |g_j| / (‖J_j‖‖r‖)
  double step_size = 0;        // ‖D s₀‖ / ‖D x‖
  Vector step;                 // s₀, within the bounds
  std::vector<Held> held;      // as in Step
};

// What the verdict is judged against.
struct CertificateTests {
  double tau = 1e-3, xtol = 1e-10, gtol = 1e-10;
  double magnitude = 0;     // ‖size of the terms of r‖: rounding errors of r scale with it
  double initial_cost = 0;  // a cost 32 digits below it is zero, if it is rounding beside the terms of r, too
  bool unit_sigma = false;  // sigma is 1 by the user's word (absolute sigma)
  std::span<const double> column_magnitude = {};  // as in Recheck; `magnitude` for all where it is empty
  bool underflow = false;                         // as in Recheck: sums of squares say nothing
  Box room = {};                                  // around x
};

struct Certified {
  Certificate certificate;
  // (JᵀJ)⁻¹ on the determined subspace, not scaled by sigma²; NaN for parameters outside it and for those on
  // a bound
  Matrix covariance;
  Vector step;               // undamped f64 step, within the determined subspace and the bounds
  bool first_order = false;  // a first-order test holds
};

}  // namespace nlsq::inline v0
