// ProblemControl observes a solve of blocks more closely than a callback of SolverOptions can. Adapters to
// other libraries' interfaces use it, such as nlsq::ceres, which have their own stop tests and reports.
#pragma once

#include <nlsq/problem.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>

namespace nlsq::inline v0 {

// A step that was tried, reported once the derivatives at its end are known. Report number 0 is that of the
// start.
struct BlockStepReport {
  int iteration = 0;
  StepOutcome outcome = StepOutcome::accepted;
  double cost = 0;      // at the trial point; not finite if it has none
  double decrease = 0;  // of the cost, from the point before to the trial point
  // Largest entry and 2-norm of P(x ⊞ -g) - x at the point reached. g is the gradient in tangent numbers and
  // P projects onto the bounds.
  double gradient_max = 0, gradient_norm = 0;
  double step_norm = 0;       // ‖trial x - x‖, in the ambient numbers of x
  double gain = 0;            // decrease / decrease predicted by the linear model
  double lambda = 0;          // of the next step
  int linear_iterations = 0;  // of conjugate gradients; 0: a direct solve
  bool factored = true;       // false: the damped matrix was not positive definite, so there was no step
  double seconds = 0, solver_seconds = 0;  // of this iteration
  std::span<const double> x;               // the best point: parameter blocks in the order they were added
};

// Counts and times (in s) of a solve, as such libraries report them.
struct BlockSolveFacts {
  int cost_evaluations = 0, derivative_evaluations = 0, linear_solves = 0;
  double cost_seconds = 0, derivative_seconds = 0, linear_seconds = 0;
  std::size_t eliminated_blocks = 0, other_blocks = 0;
  bool dense = false;      // the matrix that remains after the elimination is dense
  bool iterative = false;  // that matrix was never formed
  int linear_iterations = 0;
  bool groups_followed = false;  // the given elimination groups were used
  bool tolerance_met = false;    // one of the control's stop tests ended the solve
  // No test can decide at the end, because a parameter ran away or moves no residual, or the cost is known
  // to be lower elsewhere.
  bool doubtful = false;
  double undamped_step =
      std::numeric_limits<double>::quiet_NaN();  // norm of the step without damping at the end
  // The cost at the end, by the residuals of the functions themselves; NaN if they were not called there.
  double cost_by_functions = std::numeric_limits<double>::quiet_NaN();
};

// Holds the stop tests and callbacks of an observed solve.
struct ProblemControl {
  // Stop tests; 0 switches one off. The first two apply to every trial step, with f64 numbers on both sides.
  double function_tolerance = 0;  // |decrease| <= tolerance * cost
  // step_norm <= tolerance * (‖x‖ + tolerance), after the first accepted step
  double parameter_tolerance = 0;
  double gradient_tolerance = 0;  // gradient_max <= tolerance
  double least_gain = 1e-3;       // least gain ratio of an accepted step
  int max_invalid_steps = 0;      // failed factorisations in a row; 0: no limit

  // Use a factor if it takes fewer operations, even though StepSolver::iterative was requested. The caller of
  // another library may have chosen that solver without knowing the problem's size.
  bool factor_if_cheaper = false;

  // Makes no step and judges the present values, which must lie within their bounds. certify() sets it. The
  // stop tests, the limits and the observer then have no effect.
  bool certify_only = false;

  // Is called after each step; Stop ends the solve.
  std::function<CallbackResult(const BlockStepReport&)> observer;
  // Is called before any function is called at x. `new_point` is true if functions were last called at
  // another x.
  std::function<void(std::span<const double> x, bool derivatives, bool new_point)> before_evaluation;
  BlockSolveFacts* facts = nullptr;
};

// Adds a residual block whose parameter blocks are given by number, in the order in which they were added to
// the problem. Does what Problem::add_residual_block() does, but checks nothing.
NLSQ_API void add_residual_block(Problem& problem, std::shared_ptr<const BlockFunction> function,
                                 const Loss& loss, std::span<const std::uint32_t> blocks);

// Sets a function that begins to load into the caches what a call of a residual block's function will read.
// The solver calls it ahead of that call. Without it, functions that lie apart in memory cost a wait each.
NLSQ_API void set_fetch(Problem& problem, void (*fetch)(const BlockFunction&));

// Moves the data that `earlier` kept of its last solve to `problem`, which must not have been solved yet.
// Residual block b of `problem`, in the order of addition, was block was[b] of `earlier`, with the same
// function on blocks of the same sizes. Any number beyond those marks a new block. Results keep the same
// bits. Afterwards `earlier` counts as not solved.
NLSQ_API void inherit(Problem& problem, Problem& earlier, std::span<const std::size_t> was);

// Does what solve(problem, options) does, observed by `control`.
NLSQ_API Summary solve(Problem& problem, const SolverOptions& options, const ProblemControl& control);

// Does what certify(problem, options) does, observed by `control`.
NLSQ_API Summary certify(Problem& problem, const SolverOptions& options, const ProblemControl& control);

}  // namespace nlsq::inline v0
