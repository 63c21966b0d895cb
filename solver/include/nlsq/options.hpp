// The options of a fit are plain fields with defaults, named as in SciPy where SciPy has them. Every solve
// takes them.
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
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// A callback returns whether the solve continues.
enum class CallbackResult : std::uint8_t { proceed, stop };
inline constexpr CallbackResult Continue = CallbackResult::proceed;
inline constexpr CallbackResult Stop = CallbackResult::stop;

// Says how steps are computed.
enum class Algorithm : std::uint8_t {
  levenberg_marquardt,
  gauss_newton,  // undamped; a step that does not decrease the cost is replaced by damped ones
  // Powell's dogleg path goes down the steepest descent, then towards the undamped step, up to a trust
  // radius. It is not available for Problem.
  dogleg,
};

// Says when geodesic acceleration corrects a step (Transtrum, Machta, Sethna, Phys. Rev. E 83, 036701).
enum class Geodesic : std::uint8_t {
  // It is used from the tenth iteration on, and throughout a second attempt. 324 perturbed NIST runs then
  // take 14,600 iterations instead of 35,700, and easy fits take no more time.
  automatic,
  always,
  never,
};

class Journal;  // <nlsq/journal.hpp>
class Team;     // <nlsq/team.hpp>

// Says which threads, and which processes, do the work of a pass. The result has the same bits for every
// choice.
struct Parallelism {
  int threads = 0;  // limit on threads; 0: as many as the machine has; 1: no thread is started
  // Replaces `threads`. It must run task(0) ... task(count - 1), each once, in any order, on the caller's own
  // threads (a tbb::task_arena, a thread pool), and return when all are done.
  std::function<void(std::size_t count, const std::function<void(std::size_t)>& task)> executor;
  // Other processes that make the same calls with the same arguments. Each computes a part of every long pass
  // of a curve fit, and they exchange the sums. Or each does a part of many fits, and they exchange the
  // results. With null, this process works alone.
  std::shared_ptr<Team> team = nullptr;
  // Stores the finished parts of long work, so that a later call can continue from there. With null, nothing
  // is stored.
  std::shared_ptr<Journal> journal = nullptr;
};

// Selects whether the first iterations use samples of the rows (from about 10⁴ rows on).
enum class Sampling : std::uint8_t {
  automatic,  // if the precision policy is adaptive
  always,     // with every policy
  never,
};

// Selects whether linear parameters of a curve's model are eliminated: solved for at each point, so that only
// the others are damped (docs/variable-projection.md). Parameters with bounds are not eliminated, and none
// are with a loss or with errors in x. The minimum is the same.
enum class VariableProjection : std::uint8_t {
  automatic,  // if the first point shows that it saves work
  on,
  off,
};

// Says how the steps of a Problem are computed once points are eliminated (docs/problems.md).
enum class StepSolver : std::uint8_t {
  automatic,  // factored, or iterative if counts of operations and bytes say that a factor costs more
  factored,   // forms and factors the reduced matrix
  // preconditioned conjugate gradients on the reduced matrix as an operator, which is never formed
  iterative,
};

// The preconditioner of conjugate gradients consists of the inverses of the diagonal blocks of ...
enum class Preconditioner : std::uint8_t {
  jacobi,        // the normal matrix
  schur_jacobi,  // the reduced matrix after points are eliminated
};

// Every solver has these options.
struct NLSQ_API SolverOptions : Parallelism {
  Algorithm algorithm = Algorithm::levenberg_marquardt;
  Geodesic geodesic = Geodesic::automatic;

  // Stop tests. All are verified in f64 on the undamped problem. Tolerances lie in [0, 1), tau in [0, ∞).
  double tau = 1e-3;    // largest distance to the optimum in standard errors, ν₀/σ
  double xtol = 1e-10;  // largest undamped step: ‖D s‖ <= xtol ‖D x‖, D = column norms of J
  double gtol = 1e-10;  // largest cosine between the residual and a column of J
  double ftol = 0;      // relative decrease of the cost by a step; ends as TOLERANCE. 0: off
  // limit on accepted and rejected steps; escalations are not counted
  int max_iterations = 1000;
  double max_seconds = 0;  // time limit in s; 0: no limit

  double initial_lambda = 1e-3;  // initial damping λ, relative to the squared column norms
  // Up to this many steps in a row may raise the cost, if it stays below the highest cost among them by
  // enough of the predicted decrease (nonmonotonic steps; Toint, Math. Program. 77, 1997). This helps to
  // cross curved valleys. It is used in float64 only; the result is the best point seen. With 0, every step
  // must lower the cost. It is not available for Problem.
  int nonmonotonic_steps = 0;
  // Solve for the starting values of linear parameters instead of using the given ones. A loss that ignores
  // distant residuals is replaced by a convex one for this (docs/losses.md).
  bool solve_linear_start = true;
  // automatic is also off without solve_linear_start
  VariableProjection variable_projection = VariableProjection::automatic;
  // if empty, the thread's current_policy() at the time of the call
  std::optional<PrecisionPolicy> precision;
  Sampling sampling = Sampling::automatic;
  bool strict = false;  // re-evaluate every row with the user's callable, not just a sample
  // Is called after each line of the trace; Stop ends the solve. Its exceptions pass through.
  std::function<CallbackResult(const IterationSummary&)> callback;

  // The options below are for Problem only.
  StepSolver step_solver = StepSolver::automatic;
  Preconditioner preconditioner = Preconditioner::schur_jacobi;
  // Accuracy of conjugate gradients, in (0, 1): they stop when more iterations would add less than this share
  // of the step's decrease. Near the optimum they are more accurate.
  double eta = 0.1;
  int max_linear_iterations = 500;  // limit on conjugate-gradient iterations per step

  // Returns `precision`, or the thread's policy if that is empty.
  PrecisionPolicy policy() const { return precision ? *precision : current_policy(); }
  // Describes every violated rule; empty if there is none.
  std::vector<std::string> violations() const;
  // Throws ValidationError if there is a team or a journal, which `what` does not use.
  void refuse_team_and_journal(const char* what) const;
};

// The options of curve fits. m is the number of rows, n the number of the model's parameters. Set fields by
// statements, `FitOptions o; o.xtol = 1e-8;`: C++ does not let a designated initialiser, `{.xtol = 1e-8}`,
// name a field of a base.
struct NLSQ_API FitOptions : SolverOptions {
  Column sigma;  // m standard deviations of y, in units of y and > 0; empty: all equal and unknown
  // The covariance of y, which may be given instead of `sigma`: m x m, symmetric and positive definite. The
  // fit then minimizes (f - y)ᵀ covariance⁻¹ (f - y), whitened by its Cholesky factor. The work is of order
  // m³, so use it for at most a few thousand rows. It cannot be combined with losses, sigma_x or rows from a
  // source.
  Matrix sigma_matrix;
  // true if sigma is in units of y: then standard errors are not scaled by the fit's residuals
  bool absolute_sigma = false;
  // {lower, upper} bounds of the parameters. Every evaluated point respects them, and p0 must, too. A
  // parameter that ends on a bound (FitResult::at_bound) has standard error NaN; the others have those of a
  // fit with it fixed there.
  Bounds bounds;
  // Number of starts: p0, and others from a seeded Latin hypercube, within bounds that are finite on both
  // sides, around p0 elsewhere. The result is the best certified minimum; FitResult::minima has all. The same
  // seed gives the same bits.
  int starts = 1;
  std::uint64_t seed = 1;
  // Parameters fixed at their starting values, by name (p0, p1 ... for callables without names).
  std::vector<std::string> fixed;
  std::vector<std::string> parameter_names;  // for callables; default p0, p1, ...

  // docs/losses.md describes the effect of each loss on statistics and standard errors.
  // soft_l1, huber, cauchy, arctan, tukey reduce the weight of outliers; poisson: y are counts
  Loss loss;
  // These are the standard deviations of the predictors, in their units: one column for each, empty if exact.
  // They need `sigma`. The variance of a residual is sigma² + Σ (∂f/∂x_k)² sigma_x[k]². This is possible for
  // formulas and for models that can be recorded.
  std::vector<Column> sigma_x;
  // These parameters are tied, as in {"d = 2*a"}. The right side is an expression of the model's parameters,
  // which may themselves be tied. Tied parameters are not fitted but have standard errors. A starting value
  // for a tied parameter is an error by name, and is ignored by position.
  std::vector<std::string> ties;
};

}  // namespace nlsq::inline v0
