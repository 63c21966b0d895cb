// Implements BlockObserver: calls the iteration callbacks of a ProblemControl and runs its stop tests.
#include "blocks/block_observer.hpp"

#include "certificate/certificate.hpp"
#include "support/constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

// Computes gradient norms from the projected gradient P(x ⊞ -g) - x, where P projects onto the bounds. They
// are infinite if a manifold has no point x ⊞ -g.
std::string BlockObserver::test_point(const Vector& x) {
  std::vector<double> back(system_.gradient()), moved;
  for (double& g : back) g = -g;
  model_.plus(x, back, moved);
  report_.gradient_max = report_.gradient_norm = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double moved_by = std::fabs(moved[i] - x[i]);
    const double d = std::isnan(moved_by) ? kInfinity : moved_by;
    report_.gradient_max = std::max(report_.gradient_max, d);
    report_.gradient_norm += d * d;
  }
  report_.gradient_norm = std::sqrt(report_.gradient_norm);
  const double tolerance = control_.gradient_tolerance;
  if (!(tolerance > 0 && report_.gradient_max <= tolerance)) return {};
  return fmt::format("gradient_tolerance: {:e} <= {:e}", report_.gradient_max, tolerance);
}

// Reports once for each step, when the derivatives at the new point are available.
CallbackResult BlockObserver::report(const Vector& x, double cost, double lambda) {
  if (told_) return CallbackResult::proceed;
  told_ = true;
  if (steps_ == 0) report_.cost = cost;
  report_.iteration = steps_;
  report_.lambda = lambda;
  report_.seconds = seconds_since(step_begin_);
  report_.solver_seconds = system_.last_solve_seconds();
  report_.x = x;
  step_begin_ = Clock::now();
  return control_.observer ? control_.observer(report_) : CallbackResult::proceed;
}

std::string BlockObserver::test_step(const Vector& x, const Vector& trial, double cost, double trial_cost,
                                     double gain, StepOutcome outcome, const Step& step,
                                     int accepted_before) {
  told_ = false;
  ++steps_;
  double size = 0, moved = 0;
  for (std::uint32_t p = 0; p < structure_.list.sizes.size(); ++p) {
    if (structure_.tangent_offset(p) < 0) continue;
    for (std::size_t i = 0; i < static_cast<std::size_t>(structure_.list.sizes[p]); ++i) {
      const double before = x[structure_.list.offsets[p] + i],
                   d = trial[structure_.list.offsets[p] + i] - before;
      size += before * before;
      moved += d * d;
    }
  }
  size = std::sqrt(size);
  report_.step_norm = std::sqrt(moved);
  report_.linear_iterations = step.linear_iterations;
  report_.factored = step.factored;
  report_.cost = trial_cost;
  report_.decrease = cost - trial_cost;
  report_.gain = gain;
  report_.outcome = outcome;
  if (outcome == StepOutcome::invalid) return {};
  const double of_parameters = control_.parameter_tolerance, of_cost = control_.function_tolerance;
  // If x contains a map coordinate or a clock of 1.7e9 s, any step is short beside it, however far it moves
  // the other parameters. So a step does not count as short while the linear model predicts a decrease of the
  // cost above what counts as noise near an optimum.
  // Under a loss JᵀJ may exceed the curvature of the cost by a factor of 100, so that steps are short and
  // their predictions small far from the optimum.
  const double share = structure_.losses.empty() ? kNearInNoise : 0.1 * kNearInNoise;
  const double near = share * system_.scatter_at(std::min(cost, trial_cost));
  const bool gains_little = 2 * step.predicted <= near * near;
  if (of_parameters > 0 && accepted_before > 0 && gains_little &&
      report_.step_norm <= of_parameters * (size + of_parameters)) {
    return fmt::format("parameter_tolerance: relative step {:e} <= {:e}",
                       report_.step_norm / (size + of_parameters), of_parameters);
  }
  // If an accepted step lowered the cost by far less than predicted, for another reason than rounding, the
  // model was wrong so far from x. The next steps are shorter and may lower the cost by more.
  constexpr double kFairGain = 0.1, kRounding = 0x1p-50;
  const bool misjudged =
      outcome == StepOutcome::accepted && gain < kFairGain && report_.decrease > kRounding * cost;
  if (of_cost > 0 && !misjudged && std::fabs(report_.decrease) <= of_cost * cost) {
    return fmt::format("function_tolerance: |change of cost| / cost {:e} <= {:e}",
                       std::fabs(report_.decrease) / cost, of_cost);
  }
  return {};
}

}  // namespace nlsq::inline v0
