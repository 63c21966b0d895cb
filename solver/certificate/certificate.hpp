// The certificate: the f64 verdict on a point. It states what the data determine and how far the optimum is.
// The minimizer calls it at the end of a solve.
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

// Memory for undamped steps, used again.
struct UndampedSolver {
  LinearSolver solver;
  Step step;
};

// Finds the minimum of the undamped model within `room`, with columns scaled to length 1. Returns
// scratch.step, which holds it.
Step& solve_undamped(const Linearization& at, UndampedSolver& scratch, const Box& room = {});

// Judges x, linearized in f64. Parameters that the cost pushes against a bound they lie on are taken as fixed
// there. Where κ₀ asks for it a QR pass over the rows replaces the normal equations. `at` is updated to the
// linearization that served.
void certify(Evaluator& evaluator, std::span<const double> x, Linearization& at,
             const CertificateTests& tests, UndampedSolver& scratch, Certified& out);

// Computes rank, covariance and step from `at` alone. Returns false if that needs the triangle of a QR pass
// and `at` has none.
bool judge_covariance(const Linearization& at, Certified& out);

// The error of standard errors, relative to them, that errors of J by differences cause. They are independent
// from row to row, so their effect falls with the root of the number of rows.
double error_by_differences(const Linearization& at, const Certificate& c, std::size_t rows);
// Above this error, standard errors are not known. It is an estimate, and usually several times too large.
inline constexpr double kStandardErrorsUnknown = 0.02;

// First-order quantities at x from the normal equations alone.
void first_order(const Linearization& at, std::span<const double> x, std::size_t rows, bool unit_sigma,
                 UndampedSolver& scratch, FirstOrder& out, const Box& room = {});

// Numerical rank of J from the triangle of a QR pass, with columns scaled to unit length.
int numerical_rank(const Linearization& at);

// Largest cosine between r and a column of J, over the parameters that no bound fixes. 0 where r or the
// column vanishes.
double gradient_cosine(const Linearization& at, const Box& room = {});
// Compares |g_j| with its rounding bound, for the same parameters.
struct GradientNoise {
  bool noise = true;  // every |g_j| is within its bound
  // The bound as a cosine: the largest one. If some |g_j| exceed their bounds, the bound of
  // the one that exceeds it most.
  double bound = 0;
  double furthest = 1;  // the largest cosine beside its bound, at least 1

  void add(double cosine, double its_bound);
};
GradientNoise gradient_noise(const Linearization& at, double magnitude,
                             std::span<const double> column_magnitude, double jacobian_error,
                             const Box& room = {});
// Above this bound of the gradient, as a cosine, the residuals are mostly rounding.
inline constexpr double kMostlyRounding = 0.1;
// How far rounding of the residuals can move the decrement ν₀.
double decrement_noise(double cost, double magnitude);
// Bounds of rounding errors are worst cases. With terms far larger than σ they cover many standard errors. So
// a gradient within its bound proves a minimum only if the distance is at most this many standard errors, or
// if the residuals themselves are rounding. The certificate of a block problem always requires it.
inline constexpr double kNearInNoise = 0.1;
// Whether a cosine between the gradient and the residuals is so small that x is a minimum. Beside residuals
// far larger than a sigma that the user fixed, it may be small many of these sigma away, so the distance in
// standard errors counts, too. Where it is not finite there are no standard errors, and the cosine decides.
inline bool is_flat(double cosine, double gtol, double distance) {
  return cosine <= gtol && !(std::isfinite(distance) && distance > kNearInNoise);
}
bool residuals_are_rounding(double cost, double magnitude);
// The rounding errors of the residuals e, measured: ‖e‖, and how far they move ν₀.
struct MeasuredRounding {
  double residuals = 0, decrement = 0;
  bool known() const { return residuals - residuals == 0; }
};
// Moves x by a step v of some rounding errors of the terms of r. Over such a distance a model is straight, so
// r(x+v) - r - Jv is the difference of the errors at two points. Costs a pass over the rows, and up to eight
// where they are few.
MeasuredRounding measure_rounding(Evaluator& evaluator, std::span<const double> x, const Linearization& at,
                                  const CertificateTests& tests, UndampedSolver& scratch);
// Whether a success says nothing of the distance to the minimum: it rests on rounding errors that are as
// large as the residuals. Where the terms of a model cancel (a cubic in x near 2450000), these errors may be
// far larger than the last digits of y, and then this is no minimum.
bool rests_on_rounding(const Certificate& c);
// How far x may be from the optimum because parameters are f64 numbers: ‖u D x‖, on the scale of ν₀.
double grid_decrement(const Linearization& at, std::span<const double> x);
// Rounding error of a QR step, relative to ‖D x‖: n u √κ₀.
double step_noise(double condition, std::size_t parameters);
// True if the residual is only rounding: 32 digits below the start's cost, and 12 digits below its own terms.
bool zero_residual(double cost, double initial_cost, double magnitude);

// A residual counts as a rounding error of its terms if it is at most this share of them.
inline constexpr double kVanishing = 1e4 * kUnitRoundoff;
// Residuals below this share of their terms, or of the residuals at the start, may be rounding errors of
// numbers inside the functions.
inline constexpr double kSmallResiduals = 0x1p-20;
// σ = √(2F/(m-n)), or 1; 0 without degrees of freedom.
double scatter(double cost, std::size_t rows, std::size_t parameters, bool unit_sigma);

}  // namespace nlsq::inline v0
