// The f64 verdict on a point: what the data determine, how far the optimum is, how sure that is.
#pragma once

#include "dense/evaluator.hpp"
#include "linear/linear_solver.hpp"
#include "minimizer/box.hpp"
#include "minimizer/minimizer_step_values.hpp"

#include <nlsq/options.hpp>
#include <nlsq/summary.hpp>

namespace nlsq::inline v0 {

// Memory for undamped steps, used again.
struct UndampedSolver {
  LinearSolver solver;
  Step step;
};

// Judges x, linearized in f64. Parameters that the cost pushes against a bound they lie on are taken as fixed
// there. Where κ₀ asks for it a QR pass over the rows replaces the normal equations. `at` is updated to the
// linearization that served.
void certify(Evaluator& evaluator, std::span<const double> x, Linearization& at,
             const CertificateTests& tests, UndampedSolver& scratch, Certified& out);

// Rank, covariance and step of `at` alone. False where it takes the triangle of a QR pass, and `at` has none.
bool judge_covariance(const Linearization& at, Certified& out);

// First-order quantities at x from the normal equations alone.
void first_order(const Linearization& at, std::span<const double> x, std::size_t rows, bool unit_sigma,
                 UndampedSolver& scratch, FirstOrder& out, const Box& room = {});

// Rank of J from the triangle of a QR pass, columns scaled to unit length.
int numerical_rank(const Linearization& at);

// Largest cosine between r and a column of J; 0 where r or the column vanishes. Of the parameters no bound
// holds.
double gradient_cosine(const Linearization& at, const Box& room = {});
// |g_j| beside its own rounding bound, for every such j.
struct GradientNoise {
  bool noise = false;  // every one is within its bound
  double bound = 0;    // as a cosine: the largest; where some are not within, that of the one furthest beyond
};
GradientNoise gradient_noise(const Linearization& at, double magnitude,
                             std::span<const double> column_magnitude, double jacobian_error,
                             const Box& room = {});
// What rounding of the residuals makes of the decrement ν₀.
double decrement_noise(double cost, double magnitude);
// Bounds of rounding errors are worst cases, and with terms far larger than σ they cover many standard
// errors. So where the gradient is within them, x is a minimum only up to so many standard errors, or where
// the residuals themselves are rounding.
inline constexpr double kNearInNoise = 0.1;
bool residuals_are_rounding(double cost, double magnitude);
// How far x may be from the optimum because its parameters are numbers of f64, and no others lie between: ‖u
// D x‖, on the scale of ν₀.
double grid_decrement(const Linearization& at, std::span<const double> x);
// What rounding makes of a step by QR, relative to ‖D x‖: n u √κ₀.
double step_noise(double condition, std::size_t parameters);
// The residual is nothing but rounding: 32 digits below the start's, and 12 below its own terms.
bool zero_residual(double cost, double initial_cost, double magnitude);
// σ = √(2F/(m-n)), or 1; 0 without degrees of freedom.
double scatter(double cost, std::size_t rows, std::size_t parameters, bool unit_sigma);

}  // namespace nlsq::inline v0
