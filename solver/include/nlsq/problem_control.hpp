// A solve of blocks that is watched more closely than a callback of SolverOptions can: for adapters of other
// libraries' interfaces, such as nlsq::ceres, which have stop tests and reports of their own.
#pragma once

#include <nlsq/problem.hpp>

#include <functional>
#include <span>

namespace nlsq::inline v0 {

// A step that was tried, once the derivatives where it led are known; number 0 is the start.
struct BlockStepReport {
  int iteration = 0;
  StepOutcome outcome = StepOutcome::accepted;
  double cost = 0;      // at the point tried; not finite where there is none
  double decrease = 0;  // of the cost, from the point before to the point tried
  // Of P(x ⊞ -g) - x, g the gradient in tangent numbers and P the projection onto the bounds, at the point
  // reached: largest entry and 2-norm.
  double gradient_max = 0, gradient_norm = 0;
  double step_norm = 0;       // ‖x tried - x‖, in the numbers of x
  double gain = 0;            // decrease over what the linear model promised
  double lambda = 0;          // of the next step
  int linear_iterations = 0;  // of conjugate gradients; 0: a direct solve
  bool factored = true;       // else there was no step: the damped matrix was not positive definite
  double seconds = 0, solver_seconds = 0;  // of this iteration
  std::span<const double> x;               // the best point: parameter blocks in the order they were added
};

// What was done, in the words of such a library.
struct BlockSolveFacts {
  int cost_evaluations = 0, derivative_evaluations = 0, linear_solves = 0;
  double cost_seconds = 0, derivative_seconds = 0, linear_seconds = 0;
  std::size_t eliminated_blocks = 0, other_blocks = 0;
  bool dense = false;      // the matrix that is left after the elimination
  bool iterative = false;  // it was never formed
  int linear_iterations = 0;
  bool groups_followed = false;  // elimination groups that were given served
  bool tolerance_met = false;    // one of the control's stop tests ended the solve
};

struct ProblemControl {
  // Stop tests; 0: off. The first two on every step tried, f64 numbers on both sides.
  double function_tolerance = 0;  // |decrease| <= tolerance * cost
  double parameter_tolerance =
      0;  // step_norm <= tolerance * (‖x‖ + tolerance), after the first accepted step
  double gradient_tolerance = 0;  // gradient_max <= tolerance
  double least_gain = 1e-3;       // of a step that is taken
  int max_invalid_steps = 0;      // failed factorisations in a row; 0: no limit

  // StepSolver::iterative is what a caller of that library named who may not know the problem's size: a
  // factor serves where counts of operations say that it takes less.
  bool factor_if_cheaper = false;

  // After each step; Stop ends the solve.
  std::function<CallbackResult(const BlockStepReport&)> observer;
  // Before any function is called at x. `new_point`: x is not where functions were called last.
  std::function<void(std::span<const double> x, bool derivatives, bool new_point)> before_evaluation;
  BlockSolveFacts* facts = nullptr;
};

// What `earlier` kept of its last solve becomes the problem's, which has not been solved yet: its residual
// block b, in the order they were added, was block was[b] there, the same function on blocks of the same
// sizes; any number beyond: it is new. Its bits are what they would be anyway. `earlier` is as if it had not
// been solved.
NLSQ_API void inherit(Problem& problem, Problem& earlier, std::span<const std::size_t> was);

// As solve(problem, options).
NLSQ_API Summary solve(Problem& problem, const SolverOptions& options, const ProblemControl& control);

}  // namespace nlsq::inline v0
