// Implements certify() of a Problem: a solve that makes no step, in f64 throughout.
#include "blocks/problem_impl.hpp"
#include "fit/fit_setup.hpp"

#include <nlsq/certify.hpp>
#include <nlsq/error.hpp>
#include <nlsq/problem_control.hpp>

#include <fmt/format.h>

namespace nlsq::inline v0 {

SolverOptions without_steps(SolverOptions options) {
  // How far the linear model may move a parameter, relative to its size. The distance to the optimum that the
  // model predicts is not reliable for a longer step.
  constexpr double kLargestStep = 1e-3;
  options.max_iterations = 0;
  options.max_seconds = 0;
  options.precision = PrecisionPolicy::all_f64();
  options.algorithm = Algorithm::levenberg_marquardt;
  options.nonmonotonic_steps = 0;
  options.callback = {};
  options.ftol = 0;
  options.xtol = kLargestStep;
  options.gtol = 0;
  return options;
}

namespace {

// Throws if a value lies outside its bounds. A solve would move such a value to its bound, and so judge
// another point than the one the user gave. Parameter blocks that no residual block uses do not move.
void check_bounds(const Problem::Impl& problem) {
  std::vector<std::uint8_t> used(problem.parameters.size(), 0);
  for (std::size_t r = 0; r < problem.functions.size(); ++r) {
    if (!problem.alive(r)) continue;
    for (const std::uint32_t p : problem.parameters_of(r)) used[p] = 1;
  }
  std::vector<std::string> wrong;
  for (std::size_t b = 0; b < problem.parameters.size(); ++b) {
    const ParameterBlock& block = problem.parameters[b];
    if (block.constant || block.removed || !block.bounded() || used[b] == 0) continue;
    for (std::size_t i = 0; i < static_cast<std::size_t>(block.size); ++i) {
      const double value = block.data[i], lower = block.limits->lower[i], upper = block.limits->upper[i];
      if (value >= lower && value <= upper) continue;
      wrong.push_back(
          fmt::format("certify: number {} of parameter block {} is {}, outside its bounds {} and {}: give "
                      "values within them",
                      i, b, value, lower, upper));
    }
  }
  if (!wrong.empty()) throw ValidationError(std::move(wrong));
}

}  // namespace

Summary certify(Problem& problem, const SolverOptions& options, const ProblemControl& control) {
  if (auto violations = options.violations(); !violations.empty())
    throw ValidationError(std::move(violations));
  check_bounds(problem.impl());
  ProblemControl judging = control;
  judging.certify_only = true;
  return solve(problem, without_steps(options), judging);
}

Summary certify(Problem& problem, const SolverOptions& options) { return certify(problem, options, {}); }

}  // namespace nlsq::inline v0
