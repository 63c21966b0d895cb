// The certificate is the verdict on a point in f64. It states which parameters the data determine and how far
// the optimum is. The minimizer computes it at the end of a solve.
#pragma once

#include "dense/evaluator.hpp"
#include "linear/linear_solver.hpp"
#include "minimizer/box.hpp"
#include "minimizer/minimizer_step_values.hpp"
#include "support/constants.hpp"

#include <nlsq/options.hpp>
#include <nlsq/summary.hpp>

#include <cmath>

namespace nlsq::inline v0 {

// Memory for undamped steps, which is reused.
struct UndampedSolver {
  LinearSolver solver;
  Step step;
};

// Finds the minimum of the undamped model within `room`, with columns scaled to length 1. Returns
// scratch.step, which holds it.
Step& solve_undamped(const Linearization& at, UndampedSolver& scratch, const Box& room = {});

// Judges x, linearized in f64. Parameters that lie on a bound and that the cost pushes against it are taken
// as fixed there. Where κ₀ is too large for the normal equations, a QR pass over the rows replaces them. `at`
// is updated to the linearization that was used.
void certify(Evaluator& evaluator, std::span<const double> x, Linearization& at,
             const CertificateTests& tests, UndampedSolver& scratch, Certified& out);

// Computes rank, covariance and step from `at` alone. Returns false if this needs the triangle of a QR pass
// and `at` has none.
bool judge_covariance(const Linearization& at, Certified& out);

// Computes the undamped step at x, and the distance that it measures, from the normal equations alone.
void undamped_step(const Linearization& at, std::span<const double> x, std::size_t rows, bool unit_sigma,
                   UndampedSolver& scratch, UndampedStep& out, const Box& room = {});

// Returns the numerical rank of J from the triangle of a QR pass, with columns scaled to unit length.
int numerical_rank(const Linearization& at);

// Returns the largest cosine between r and a column of J, over the parameters that no bound fixes. It is 0
// where r or the column vanishes.
double gradient_cosine(const Linearization& at, const Box& room = {});
// Holds the result of comparing each |g_j| with its rounding bound, for the parameters that no bound fixes.
struct GradientNoise {
  bool noise = true;  // every |g_j| is within its bound
  // The largest bound, as a cosine. If some |g_j| exceed their bounds, it is the bound of the component that
  // exceeds its bound by the largest factor.
  double bound = 0;
  double furthest = 1;  // the largest ratio of a cosine to its bound, at least 1

  void add(double cosine, double its_bound);
};
GradientNoise gradient_noise(const Linearization& at, double magnitude,
                             std::span<const double> column_magnitude, double jacobian_error,
                             const Box& room = {});
// Above this bound of the gradient, as a cosine, the residuals are mostly rounding.
inline constexpr double kMostlyRounding = 0.1;
// Returns how far rounding of the residuals can change the decrement ν₀.
double decrement_noise(double cost, double magnitude);
// Bounds of rounding errors are worst cases. Where terms are far larger than σ, these bounds correspond to
// many standard errors. So a gradient within its bound proves a minimum only if the distance is at most this
// many standard errors, or if the residuals themselves are rounding. The certificate of a block problem
// always requires it.
inline constexpr double kNearInNoise = 0.1;
// Returns true if the cosine between the gradient and the residuals is so small that x is a minimum. If the
// user fixed a sigma that is far smaller than the residuals, the cosine may be small at points that are many
// sigmas away from the minimum. So the distance in standard errors must be small, too. Where that distance is
// not finite there are no standard errors, and the cosine alone decides.
inline bool is_flat(double cosine, double gtol, double distance) {
  return cosine <= gtol && !(std::isfinite(distance) && distance > kNearInNoise);
}
bool residuals_are_rounding(double cost, double magnitude);
// Holds the measured rounding errors e of the residuals: ‖e‖, and by how much they change ν₀.
struct MeasuredRounding {
  double residuals = 0, decrement = 0;
  bool known() const { return residuals - residuals == 0; }
};
// Measures the rounding errors of the residuals. It moves x by a step v of some rounding errors of the terms
// of r. Over such a distance a model is linear, so r(x+v) - r - Jv is the difference of the errors at two
// points. Takes a pass over the rows, and up to eight passes where rows are few.
MeasuredRounding measure_rounding(Evaluator& evaluator, std::span<const double> x, const Linearization& at,
                                  const CertificateTests& tests, UndampedSolver& scratch);
// Returns true if a success does not show how far the minimum is, because it rests on rounding errors that
// are as large as the residuals. Where the terms of a model cancel (a cubic in x near 2450000), these errors
// may be far larger than the last digits of y, and then the point is no minimum.
bool rests_on_rounding(const Certificate& c);
// Returns how far x may be from the optimum because parameters are f64 numbers: ‖u D x‖, on the scale of ν₀.
double grid_decrement(const Linearization& at, std::span<const double> x);
// Returns the rounding error of a QR step, relative to ‖D x‖: n u √κ₀.
double step_noise(double condition, std::size_t parameters);
// Returns true if the residual is only rounding: the cost is 0, or it is 32 digits below the start's cost and
// the residual is 12 digits below its own terms.
bool zero_residual(double cost, double initial_cost, double magnitude);

// A residual counts as a rounding error of its terms if it is at most this share of them.
inline constexpr double kVanishing = 1e4 * kUnitRoundoff;
// Residuals below this share of their terms, or of the residuals at the start, may be rounding errors of
// numbers inside the functions.
inline constexpr double kSmallResiduals = 0x1p-20;
// Returns σ = √(2F/(m-n)), or 1 if `unit_sigma`. Returns 0 without degrees of freedom.
double scatter(double cost, std::size_t rows, std::size_t parameters, bool unit_sigma);

}  // namespace nlsq::inline v0
