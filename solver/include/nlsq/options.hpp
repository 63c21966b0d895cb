// Options of a fit: plain fields with defaults, in SciPy's words where SciPy has one.
#pragma once

#include <nlsq/bounds.hpp>
#include <nlsq/column.hpp>
#include <nlsq/export.hpp>
#include <nlsq/loss.hpp>
#include <nlsq/matrix.hpp>
#include <nlsq/precision_policy.hpp>
#include <nlsq/precision_scope.hpp>
#include <nlsq/summary.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

enum class CallbackResult : std::uint8_t { proceed, stop };
inline constexpr CallbackResult Continue = CallbackResult::proceed;
inline constexpr CallbackResult Stop = CallbackResult::stop;

// How steps are proposed.
enum class Algorithm : std::uint8_t {
  levenberg_marquardt,
  gauss_newton,  // undamped; a step that does not decrease the cost falls back on damping
  dogleg,  // Powell's: along the steepest descent, then towards the undamped step, as far as a radius allows.
           // Not of Problem
};

// When geodesic acceleration (Transtrum, Machta, Sethna, Phys. Rev. E 83, 036701) corrects a step.
enum class Geodesic : std::uint8_t {
  automatic,  // from the tenth iteration on, and throughout a second attempt: 324 perturbed NIST runs take
              // 14,600 iterations instead of 35,700, and easy fits pay nothing
  always,
  never,
};

// Who does the work of a pass. The result has the same bits whatever is chosen.
struct Parallelism {
  int threads = 0;  // at most so many; 0: as many as the machine has; 1: no thread is ever started
  // Runs task(0) ... task(count - 1), each once, in any order, on the caller's own threads (a
  // tbb::task_arena, a thread pool); takes the place of `threads`.
  std::function<void(std::size_t count, const std::function<void(std::size_t)>& task)> executor;
};

// Whether the first iterations run on samples of the rows (from about 10⁵ rows on).
enum class Sampling : std::uint8_t {
  automatic,  // where the precision policy is adaptive
  always,     // with every policy
  never,
};

// Whether parameters that a curve's model is linear in are eliminated: solved for as the others go, which
// alone are damped (docs/variable-projection.md). Not those with bounds, nor under a loss or with errors in
// x. The answer is the same.
enum class VariableProjection : std::uint8_t {
  automatic,  // where the start shows that it saves work
  on,
  off,
};

// How the steps of a Problem are solved for, once points are eliminated (docs/problems.md).
enum class StepSolver : std::uint8_t {
  automatic,  // factored; iterative where counts of operations and bytes say that a factor costs more
  factored,   // the matrix that is left is formed, and factored
  iterative,  // by preconditioned conjugate gradients on it as an operator: it is never formed
};

// Of conjugate gradients: the inverses of the blocks on the diagonal of ...
enum class Preconditioner : std::uint8_t {
  jacobi,        // the normal matrix
  schur_jacobi,  // the matrix that is left once points are eliminated
};

struct NLSQ_API SolverOptions : Parallelism {
  Algorithm algorithm = Algorithm::levenberg_marquardt;
  Geodesic geodesic = Geodesic::automatic;

  // Stop tests. All are verified in f64, on the undamped problem.
  double tau = 1e-3;    // distance to the optimum in standard errors, ν₀/σ
  double xtol = 1e-10;  // undamped step, ‖D s‖ <= xtol ‖D x‖, D = column norms of J
  double gtol = 1e-10;  // largest cosine between the residual and a column of J
  double ftol = 0;      // relative cost decrease of a step; ends as TOLERANCE. 0: off
  int max_iterations = 1000;
  double max_seconds = 0;  // 0: no limit

  double initial_lambda = 1e-3;  // damping relative to the squared column norms
  // So many steps in a row may raise the cost, as long as it stays below the highest of the last of them by
  // what the model promised (Toint, Math. Program. 77, 1997): a way across a valley's bends. In float64 only;
  // the end is the best point seen. 0: every step lowers the cost. Not of Problem.
  int nonmonotonic_steps = 0;
  bool solve_linear_start =
      true;  // starting values of linear parameters are solved for, not taken as given; those of a loss
             // that leaves far residuals out, by a convex one (docs/losses.md)
  VariableProjection variable_projection =
      VariableProjection::automatic;         // automatic: off without solve_linear_start, too
  std::optional<PrecisionPolicy> precision;  // none: the thread's, current_policy(), when the solve is called
  Sampling sampling = Sampling::automatic;
  bool strict = false;  // every row is re-evaluated through the user's callable, not a sample
  std::function<CallbackResult(const IterationSummary&)> callback;

  // Of Problem alone.
  StepSolver step_solver = StepSolver::automatic;
  Preconditioner preconditioner = Preconditioner::schur_jacobi;
  double eta = 0.1;  // how far conjugate gradients go at most: to that share of what a step can gain; less
                     // near the end
  int max_linear_iterations = 500;  // of conjugate gradients, for one step

  // `precision`, or the thread's policy where it names none.
  PrecisionPolicy policy() const { return precision ? *precision : current_policy(); }
  // Every violation in words; empty when sound.
  std::vector<std::string> violations() const;
};

struct NLSQ_API FitOptions : SolverOptions {
  Column sigma;  // standard deviations of y, one a row; empty: all equal, unknown
  // Instead of `sigma`: the covariance of y, rows x rows, symmetric and positive definite; what is minimised
  // is then (f - y)ᵀ covariance⁻¹ (f - y), by whitening with its Cholesky factor. For a few thousand rows at
  // most: it is of the order of rows³. Not with losses, sigma_x or rows of a source.
  Matrix sigma_matrix;
  bool absolute_sigma = false;  // sigma is in units of y: standard errors are not scaled by the fit's scatter
  // {lower, upper} of the parameters, which every point that is evaluated keeps; p0 must, too. Where they
  // hold a parameter at the end (FitResult::at_bound) its standard error is NaN, and the others' are those of
  // a fit with it fixed there.
  Bounds bounds;
  // Fits from so many starts: p0, and others by a seeded Latin hypercube, inside bounds that are finite on
  // both sides, around p0 elsewhere. The best certified minimum is the result, all are in FitResult::minima.
  // The same seed gives the same bits.
  int starts = 1;
  std::uint64_t seed = 1;
  // Parameters held at their starting values, by name (p0, p1 ... for callables without names).
  std::vector<std::string> fixed;
  std::vector<std::string> parameter_names;  // for callables; default p0, p1, ...

  // See docs/losses.md for what each does to statistics and standard errors.
  Loss loss;  // soft_l1, huber, cauchy, arctan, tukey: outliers count less; poisson: y are counts
  // Standard deviations of the predictors, one column for each (an empty one: exact), beside `sigma`: the
  // variance of a residual is sigma² + Σ (∂f/∂x_k)² sigma_x[k]². Of models that can be recorded or are typed.
  std::vector<Column> sigma_x;
  // Parameters that follow from others, {"d = 2*a"}: an expression of the model's parameters, other tied ones
  // included. They are not fitted, and have standard errors of their own. A starting value of a tied
  // parameter is refused by name and not looked at by position.
  std::vector<std::string> ties;
};

}  // namespace nlsq::inline v0
