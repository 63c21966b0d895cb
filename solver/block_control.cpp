// What a ProblemControl sees of a solve, and its stop tests.
#include "block_minimizer.hpp"

#include <fmt/format.h>

#include <cmath>

namespace nlsq::inline v0 {

// P(x ⊞ -g) - x.
void BlockMinimizer::measure_gradient() {
  std::vector<double> back(solver_.gradient());
  for (double& g : back) g = -g;
  std::vector<double> moved;
  model_.plus(x_, back, moved);
  report_.gradient_max = report_.gradient_norm = 0;
  for (std::size_t i = 0; i < x_.size(); ++i) {
    const double d = std::fabs(moved[i] - x_[i]);
    report_.gradient_max = std::max(report_.gradient_max, d);
    report_.gradient_norm += d * d;
  }
  report_.gradient_norm = std::sqrt(report_.gradient_norm);
}

// At x, whose derivatives are known: the report of the last step, the budget, the gradient's test. True: there is
// nothing to propose now.
bool BlockMinimizer::controlled() {
  const bool met = control_->gradient_tolerance > 0 && report_.gradient_max <= control_->gradient_tolerance;
  if (met && low()) {
    promote(Gram::f64, Event::finishing, fmt::format("gradient {:.1e}", report_.gradient_max));
    return true;
  }
  report();
  if (const auto reason = spent()) {
    conclude(*reason);
    return true;
  }
  if (met) stopped_by_ = fmt::format("gradient_tolerance: {:e} <= {:e}", report_.gradient_max, control_->gradient_tolerance);
  if (!met && !reached_) return false;
  conclude(met ? Termination::tolerance : *reached_);  // which may let the iteration go on from elsewhere
  return true;
}

// Once for each step.
void BlockMinimizer::report() {
  const int steps = summary_.accepted + summary_.rejected;
  if (told_ && steps == report_.iteration) return;
  if (!told_) report_.cost = cost_, report_.lambda = trust_.lambda(), step_begin_ = begin_;
  told_ = true;
  report_.iteration = steps;
  report_.seconds = seconds_since(step_begin_);
  report_.x = x_;
  if (control_->observer && control_->observer(report_) == CallbackResult::stop) stop_asked_ = true;
}

// The tests on the step just judged; keeps what the report says of it.
bool BlockMinimizer::met_by_step() {
  double size = 0, moved = 0;
  for (std::uint32_t p = 0; p < structure_.list.sizes.size(); ++p) {
    if (structure_.tangent_offset(p) < 0) continue;
    for (std::size_t i = 0; i < static_cast<std::size_t>(structure_.list.sizes[p]); ++i) {
      const double before = x_[structure_.list.offsets[p] + i], d = trial_[structure_.list.offsets[p] + i] - before;
      size += before * before;
      moved += d * d;
    }
  }
  size = std::sqrt(size);
  report_.step_norm = std::sqrt(moved);
  report_.cost = trial_cost_;
  report_.decrease = cost_ - trial_cost_;
  report_.gain = rho_;
  report_.outcome = judgement_ == Judgement::accept ? StepOutcome::accepted : judgement_ == Judgement::invalid ? StepOutcome::invalid : StepOutcome::rejected;
  if (judgement_ == Judgement::invalid) return false;
  const double least = control_->parameter_tolerance * (size + control_->parameter_tolerance);
  if (control_->parameter_tolerance > 0 && summary_.accepted > 0 && report_.step_norm <= least) {
    stopped_by_ = fmt::format("parameter_tolerance: relative step {:e} <= {:e}", report_.step_norm / (size + control_->parameter_tolerance),
                              control_->parameter_tolerance);
    return true;
  }
  if (control_->function_tolerance > 0 && std::fabs(report_.decrease) <= control_->function_tolerance * cost_) {
    stopped_by_ = fmt::format("function_tolerance: |change of cost| / cost {:e} <= {:e}", std::fabs(report_.decrease) / cost_, control_->function_tolerance);
    return true;
  }
  return false;
}

}  // namespace nlsq::inline v0
