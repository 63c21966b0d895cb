// What happened: the verdict, the certificate behind it, and one record for each iteration.
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

// Why the iteration ended. In every case the parameters returned are finite and have the lowest
// verified f64 cost seen, never more than at the start; only `failure` leaves them at the start.
enum class Termination : std::uint8_t {
  converged,       // a first-order test held in f64 and was certified
  tolerance,       // a tolerance of the user's (ftol) was met; first order not certified
  no_progress,     // no step decreases the cost any more, and no test holds
  max_iterations,  // the iteration budget ran out
  time_limit,      // max_seconds passed
  user_stop,       // the callback said Stop
  failure,         // the residuals are not finite at the start
};

// What is certified about the result, in f64.
enum class Verdict : std::uint8_t {
  converged,       // CONVERGED: gradient and undamped f64 step vanish to tolerance
  noise_floor,     // NOISE_FLOOR: the gradient is below its own rounding bound
  rank_deficient,  // RANK_DEFICIENT: converged on the subspace that the data determine
  tolerance,       // TOLERANCE: the user's stop test holds in f64, first order not certified
  budget,          // BUDGET: best point so far; cost and gradient verified
  failed,          // FAILED: nothing is certified
};

NLSQ_API const char* name(Termination termination) noexcept;
NLSQ_API const char* name(Verdict verdict) noexcept;
// The result may be used as a minimum: CONVERGED, NOISE_FLOOR or RANK_DEFICIENT.
NLSQ_API bool is_success(Verdict verdict) noexcept;

enum class StepOutcome : std::uint8_t {
  accepted,  // the gain ratio is good
  rejected,  // the cost did not fall enough; damping grows
  invalid,   // the trial point has no finite residuals; damping grows
  promoted,  // no step: the same x is evaluated again in a higher precision
};
NLSQ_API const char* name(StepOutcome outcome) noexcept;

// One line of the trace. Costs are ½‖r‖² at the x the step started from.
struct IterationSummary {
  int iteration = 0;
  double cost = 0;
  double gradient_norm = 0;    // largest |g_j| / (‖J_j‖ ‖r‖): cosine between r and a column of J
  double decrement_sigma = 0;  // ν/σ: distance to the optimum in standard errors, damped
  double step_norm = 0;        // ‖D s‖ / ‖D x‖
  double lambda = 0;
  double rho = 0;  // gain ratio; NaN where the step was not judged by cost
  PrecisionPlan plan;
  std::size_t rows = 0;  // in the pass: all, or a sample
  KernelCounters
      counters;  // of the kernels since the iteration before: this one's passes, and the first one's start
  double condition = 0;       // of the damped, scaled normal matrix
  int linear_iterations = 0;  // of conjugate gradients; 0: the step was solved for directly
  StepOutcome outcome = StepOutcome::accepted;
  Event event = Event::none;
  std::string reason;                   // what the event compared, with numbers
  std::vector<std::string> components;  // that the event raised; empty: all of the problem
};

// The f64 verdict on the final point. Documented in docs/precision.md.
struct Certificate {
  bool passed = false;
  Verdict verdict = Verdict::failed;
  std::string governed_by;     // which test decided: "decrement+xtol", "gtol+xtol", "gradient bound", ...
  double cost = 0;             // ½‖r‖², f64
  double gradient_norm = 0;    // largest |g_j| / (‖J_j‖ ‖r‖)
  double gradient_bound = 0;   // rounding bound γ_g on the same scale
  double decrement_sigma = 0;  // ν₀/σ: distance to the optimum in standard errors
  double step = 0;             // undamped f64 step, ‖D s‖ / ‖D x‖
  // ‖D s‖ / ‖D x‖ of a last step s that needed no pass over all rows at its end: what it left was known to be
  // less than `step` (docs/precision.md). 0: all of this was evaluated at x itself.
  double last_step = 0;
  double condition = 0;  // κ₀ of the scaled normal matrix, undamped
  int rank = 0;
  std::vector<int> confounded;  // parameters the data cannot tell apart (free-parameter order)
  // Parameters that end on a bound (free-parameter order). All above is of the others, with these held where
  // they are.
  std::vector<int> at_bound;
  double covariance_error = 0;     // relative bound n·u·κ₀ (√κ₀ where QR served)
  bool qr = false;                 // by QR of J rather than by normal equations
  std::size_t rechecked_rows = 0;  // rows re-evaluated through the user's own callable in double
  double recheck_discrepancy = 0;  // largest disagreement, in units of the terms' rounding
  bool recheck_passed = false;
  int wrong_column = -1;  // of the user's Jacobian: differences of the residuals contradict it; -1: none
  double jacobian_difference = 0;  // by how much, in units of that column's norm
};

// What was done for one named component of a problem.
struct ComponentSummary {
  std::string name;
  std::size_t rows = 0;
  int escalations = 0;      // of this component by itself, not with all others
  KernelCounters counters;  // of the passes over its rows
};

struct PrecisionSummary {
  std::string policy;
  int escalations = 0;
  // One for each iteration, operation and format below f64 that could not hold its numbers (their tiles were
  // redone in f64) or nearly not. All passes of an iteration are in it, of points that were rejected, too.
  std::vector<PrecisionIssue> issues;
  KernelCounters counters;  // incremented by the kernels themselves
  std::vector<ComponentSummary> components;
};

// Seconds, wall clock; for reports only, no decision reads them.
struct TimeSummary {
  double setup = 0, evaluate = 0, solve = 0, certify = 0, total = 0;
};

struct NLSQ_API Summary {
  Termination termination = Termination::failure;
  Verdict verdict = Verdict::failed;
  std::string message;      // what happened, and what state the parameters are in
  double initial_cost = 0;  // at the start given, before linear parameters were solved
  double final_cost = 0;
  std::vector<IterationSummary> iterations;
  Certificate certificate;
  PrecisionSummary precision;
  TimeSummary time;
  double counted_work = 0;  // rows * operations, weighted by format, in f64 adds
  int accepted = 0, rejected = 0;
  std::vector<int> eliminated;  // linear parameters that were (SolverOptions::variable_projection), in
                                // free-parameter order
  std::string
      step_solver;  // of a Problem: "dense factor of 441", "sparse factor ...", "conjugate gradients on ..."
  int linear_iterations = 0;   // of conjugate gradients, in all
  int threads = 1;             // most that one pass ran on
  std::string kernel;          // "avx512", ...
  std::string evaluator;       // "graph", "dual", "derivatives", "finite differences"
  std::string evaluator_note;  // why a callable was not recorded, where it was not
  std::size_t peak_bytes = 0;  // counted: buffers of the solver, without the user's data

  // One line: verdict, iterations, cost, precision.
  std::string brief_report() const;
  // Several lines, with the certificate.
  std::string full_report() const;
  // The trace, one line an iteration.
  std::string trace_report() const;
};

}  // namespace nlsq::inline v0
