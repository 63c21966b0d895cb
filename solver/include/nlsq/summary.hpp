// Summary is the result of a solve besides the parameters. It has the verdict, the certificate behind it, and
// one entry for each iteration.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/kernel_counters.hpp>
#include <nlsq/matrix.hpp>
#include <nlsq/scheduler.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Says why the iteration ended. The returned parameters are always finite and have the lowest verified f64
// cost seen, never above that of the start. Only `failure` leaves them at the start.
enum class Termination : std::uint8_t {
  converged,       // a first-order test held in f64 and was certified
  tolerance,       // a tolerance of the user's (ftol) was met; the first-order test is not certified
  no_progress,     // no step decreases the cost any more, and no test holds
  max_iterations,  // the iteration budget ran out
  time_limit,      // max_seconds passed
  user_stop,       // the callback returned Stop
  failure,         // the residuals are not finite at the start
};

// The verdict says what is certified about the result, in f64.
enum class Verdict : std::uint8_t {
  converged,       // CONVERGED: gradient and undamped f64 step vanish to tolerance
  noise_floor,     // NOISE_FLOOR: the gradient is below its own rounding bound
  rank_deficient,  // RANK_DEFICIENT: converged on the subspace that the data determine
  tolerance,       // TOLERANCE: the user's stop test holds in f64; the first-order test is not certified
  budget,          // BUDGET: the best point so far; cost and gradient are verified
  failed,          // FAILED: nothing is certified
};

NLSQ_API const char* name(Termination termination) noexcept;
NLSQ_API const char* name(Verdict verdict) noexcept;
// Returns true if the result may be used as a minimum: CONVERGED, NOISE_FLOOR or RANK_DEFICIENT.
NLSQ_API bool is_success(Verdict verdict) noexcept;

// Says how a step ended.
enum class StepOutcome : std::uint8_t {
  accepted,  // the gain ratio is large enough
  rejected,  // the cost did not fall enough; the damping grows
  invalid,   // the trial point has no finite residuals; the damping grows
  // Not a step: the precision changed, and `event` is the reason. Usually the same x is evaluated again in a
  // higher precision. After `rollback` it is the checkpoint, and after `sample_abandoned` the start.
  escalated,
};
NLSQ_API const char* name(StepOutcome outcome) noexcept;

// Holds one line of the trace. Costs are ½‖r‖² at the x where the step started.
struct IterationSummary {
  int iteration = 0;
  double cost = 0;
  double gradient_norm = 0;    // largest |g_j| / (‖J_j‖ ‖r‖): cosine between r and a column of J
  double decrement_sigma = 0;  // ν/σ: damped distance to the optimum in standard errors
  double step_norm = 0;        // ‖D s‖ / ‖D x‖
  double lambda = 0;
  double rho = 0;  // gain ratio; NaN if the step was judged neither by its cost nor by gradients
  PrecisionPlan plan;
  std::size_t rows = 0;  // rows in the pass: all, or a sample
  KernelCounters
      // of the kernels since the last line: this iteration's passes, and for the first line those of the
      // start
      counters;
  double condition = 0;       // condition number of the damped, scaled normal matrix
  int linear_iterations = 0;  // of conjugate gradients; 0: the step was solved for directly
  StepOutcome outcome = StepOutcome::accepted;
  Event event = Event::none;
  std::string reason;                   // the numbers that the event compared
  std::vector<std::string> components;  // components that the event raised; empty if it was the whole problem
};

// Holds the f64 verdict on the final point, documented in docs/precision.md.
struct Certificate {
  bool passed = false;
  Verdict verdict = Verdict::failed;
  // the test that decided: "decrement+xtol", "gtol+xtol", "gradient bound", ...
  std::string governed_by;
  double cost = 0;             // ½‖r‖², in f64
  double gradient_norm = 0;    // largest |g_j| / (‖J_j‖ ‖r‖)
  double gradient_bound = 0;   // rounding bound γ_g on the same scale
  double decrement_sigma = 0;  // ν₀/σ: distance to the optimum in standard errors
  double step = 0;             // undamped f64 step, ‖D s‖ / ‖D x‖
  // ‖D s‖ / ‖D x‖ of a last step s without a pass over all rows at its end, because it was known to leave
  // less than `step` (docs/precision.md). If it is 0, everything was evaluated at x itself.
  double last_step = 0;
  // κ₀ of the scaled normal matrix, undamped. For a Problem it is an estimate of the right size, or NaN where
  // it is not known.
  double condition = 0;
  // Of J. For a Problem it is -1 where it was not examined: by conjugate gradients, and far from the optimum
  // where a limit ended the solve.
  int rank = 0;
  // parameters that the data cannot distinguish (indices among the free ones); empty for a Problem
  std::vector<int> confounded;
  // Parameters that end on a bound (indices among the free ones). Everything above concerns the others, with
  // these fixed. For a Problem it is empty, and the message says how many numbers are at bounds.
  std::vector<int> at_bound;
  // Bound of its relative error: n·u·κ₀, or n·u·√κ₀ if QR was used. If J is by differences, an estimate of
  // the error that these cause, where that is larger.
  double covariance_error = 0;
  bool qr = false;                 // by QR of J instead of the normal equations
  std::size_t rechecked_rows = 0;  // row evaluations repeated with the callable in double
  double recheck_discrepancy = 0;  // largest difference, in units of the terms' rounding
  bool recheck_passed = false;
  // column of the user's Jacobian that contradicts differences of the residuals; -1: none
  int wrong_column = -1;
  bool wrong_loss = false;         // a loss gives a slope that differences of its values contradict
  double jacobian_difference = 0;  // size of that contradiction, relative to the column's norm or to the
                                   // slope
};

// Holds the work for one named component of a problem.
struct ComponentSummary {
  std::string name;
  std::size_t rows = 0;
  int escalations = 0;      // of this component alone
  KernelCounters counters;  // of the passes over its rows
};

// The formats used, and the problems they had.
struct PrecisionSummary {
  std::string policy;
  int escalations = 0;
  // One entry for each iteration, operation and format below f64 whose numbers overflowed or came close.
  // Tiles that overflowed were redone in f64. Covers all passes of an iteration, also at rejected points.
  std::vector<PrecisionIssue> issues;
  KernelCounters counters;  // incremented by the kernels
  std::vector<ComponentSummary> components;
};

// Wall-clock times in s, for reports only. No decision depends on them.
struct TimeSummary {
  double setup = 0, evaluate = 0, solve = 0, certify = 0, total = 0;
};

// The summary of a solve.
struct NLSQ_API Summary {
  Termination termination = Termination::failure;
  Verdict verdict = Verdict::failed;
  std::string message;  // what happened, and the state of the parameters
  // Both costs of a Problem leave out residual blocks whose parameter blocks are all constant.
  double initial_cost = 0;  // at the given start, before linear parameters were solved for
  // ½‖r‖² with losses applied, in f64, at the result
  double final_cost = 0;
  std::vector<IterationSummary> iterations;
  Certificate certificate;
  PrecisionSummary precision;
  TimeSummary time;
  double counted_work = 0;  // rows * operations, weighted by format, in f64 adds
  int accepted = 0, rejected = 0;
  // linear parameters that were eliminated (SolverOptions::variable_projection), as indices among the free
  // ones
  std::vector<int> eliminated;
  std::string
      // for a Problem: "dense factor of 441", "sparse factor ...", "conjugate gradients on ..."
      step_solver;
  int linear_iterations = 0;   // of conjugate gradients in total
  int threads = 1;             // most threads that one pass ran on
  std::string kernel;          // "avx512", ...
  std::string evaluator;       // "graph", "dual", "derivatives", "finite differences"
  std::string evaluator_note;  // why a callable was not recorded; else empty
  std::size_t peak_bytes = 0;  // counted buffers of the solver, without the user's data

  // Returns one line: verdict, cost, steps, precision.
  std::string brief_report() const;
  // Returns several lines, with the certificate.
  std::string full_report() const;
  // Returns the trace, one line per iteration.
  std::string trace_report() const;
};

// This is one of the minima that several starts of a fit found: one entry for all starts that ended at the
// same point.
struct FitMinimum {
  // in the model's order
  std::vector<double> parameters;
  double cost = 0;  // ½‖r‖², with a loss ½ Σ ρ
  Verdict verdict = Verdict::failed;
  int starts = 1;       // number of starts that ended here
  int first_start = 0;  // index of the first of them; 0: p0
};

}  // namespace nlsq::inline v0
