// Declares the values passed between the loop and its System: a step, the undamped step, a certificate
// and its tests.
#pragma once

#include "minimizer/box.hpp"

#include <nlsq/matrix.hpp>
#include <nlsq/summary.hpp>

#include <span>
#include <vector>

namespace nlsq::inline v0 {

using Vector = std::vector<double>;

struct Step {
  bool factored = false;   // H + λI is numerically positive definite; if false, nothing below is valid
  Vector step;             // unscaled, to be added to x
  double scaled_norm = 0;  // ‖D step‖
  // decrease of the cost in the linear model: ½(λ‖s‖² - gᵀs) >= 0, with the weights of the damping
  double predicted = 0;
  double nu = 0;  // ‖L⁻¹g‖ = √(gᵀ(H+λI)⁻¹g)
  // 1-norm condition number of H + λI: from the exact inverse for n <= 64, by Hager and Higham's estimate for
  // larger n. 0 means not known.
  double condition = 0;
  // The bound that each parameter ends on; empty without bounds. With bounds, ½ν² is the decrease in the
  // damped model, and `condition` belongs to the matrix of the free parameters.
  std::vector<Held> held;
  int linear_iterations = 0;  // of conjugate gradients; 0 for a direct solve
};

// Holds the undamped step s₀ at x, from the normal equations alone, and its decrement ν₀, which measures the
// distance to the optimum. It is cheap to compute, so the loop uses it at every point. `usable` is false
// where H is numerically singular, or where it was not computed.
struct UndampedStep {
  bool usable = false;
  double condition = 0;        // κ₀; 0 if not known
  double decrement = 0;        // ν₀
  double decrement_sigma = 0;  // ν₀/σ
  double step_size = 0;        // ‖D s₀‖ / ‖D x‖
  Vector step;                 // s₀ itself, within the bounds
  std::vector<Held> held;      // as in Step
};

// Holds the tolerances and sizes that the verdict depends on.
struct CertificateTests {
  double tau = 1e-3, xtol = 1e-10, gtol = 1e-10;
  double magnitude = 0;  // ‖size of the terms of r‖, to which rounding errors of r are proportional
  // A cost 32 digits below this one counts as zero if the residuals are also rounding errors of the terms of
  // r.
  double initial_cost = 0;
  bool unit_sigma = false;                        // the user fixed σ at 1 (absolute sigma)
  std::span<const double> column_magnitude = {};  // as in Recheck; if empty, `magnitude` for all
  bool underflow = false;                         // as in Recheck: sums of squares are meaningless
  Box room = {};                                  // distances from x to its bounds
  bool unfinished = false;   // a limit ended the loop, which may have been on its way to a lower cost
  bool no_progress = false;  // the last steps did not help, so rounding errors may be all that is left
  bool stopped = false;      // the loop ends here even if the tests fail, so a failure needs no further study
};

// Certificate::governed_by where the residuals are rounding errors of their terms.
inline constexpr const char* kZeroResidual = "zero residual";
// Certificate::governed_by where residuals in numbers of twice the digits show that x is the optimum
// (twofold_end.cpp).
inline constexpr const char* kByTwofold = "twofold residuals";

struct Certified {
  Certificate certificate;
  // (JᵀJ)⁻¹ on the determined subspace, not scaled by sigma². NaN for parameters outside it and for those on
  // a bound.
  Matrix covariance;
  Vector step;               // undamped f64 step, within the determined subspace and the bounds
  bool first_order = false;  // a first-order test holds
  // If J has less than full rank: the factor by which the singular values that count as rounding errors could
  // grow and would still count as such.
  double rank_margin = 0;
};

}  // namespace nlsq::inline v0
