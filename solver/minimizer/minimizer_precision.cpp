// Chooses the precision: fills in the scheduler's report, carries out its decisions, and rolls back to the
// checkpoint. Every iteration of the loop calls assess and change_precision.
#include "minimizer/loop.hpp"

#include "ablation.hpp"

#include "support/constants.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nlsq::inline v0 {

namespace {

// Returns the work of wasted passes relative to useful ones. The work of samples and probes is small beside
// both.
double wasted_share(const Loop& loop) {
  const double served = loop.system->counted_work() - loop.digits.wasted_work;
  return served > 0 ? loop.digits.wasted_work / served : 0;
}

// Returns the variables that a user's rules may read. NaN means not available.
RuleValues rule_values(const Loop& loop) {
  using V = RuleVariable;
  const HealthReport& health = loop.health;
  RuleValues v;
  const double sigma = loop.sigma(), cost = loop.cost();
  if (loop.step.factored) {
    if (loop.step.condition > 0) v[V::condition] = health.kappa_lambda;
    v[V::epsilon_j] = loop.low_rows() || loop.low_gram() ? health.epsilon_j : 0;
    v[V::epsilon_f] = cost > 0 ? health.cost_noise / cost : kNaN;
    v[V::decrement] = sigma > 0 ? loop.step.nu / sigma : kNaN;
  }
  v[V::rho] = loop.trial.gain;
  v[V::lambda] = health.lambda;
  v[V::iteration] = loop.log.next;
  v[V::rows] = static_cast<double>(loop.system->residuals());
  v[V::n] = health.parameters;
  v[V::nonfinite] = loop.system->at().nonfinite_tiles;
  loop.system->rule_values(v);
  return v;
}

std::string reason_of(const Loop& loop, const Decision& decision) {
  const HealthReport& h = loop.health;
  const Thresholds& t = loop.policy.thresholds;
  switch (decision.event) {
    case Event::rule: return loop.policy.rules[decision.rule->index].to_string();
    case Event::overflow:
      return fmt::format("{:.1f} % of tiles leave the range of f32", 100 * h.nonfinite_tiles);
    case Event::not_definite: return "normal matrix is not positive definite";
    case Event::condition:
      return fmt::format("condition {:.1e} > {:.1e}", h.kappa_lambda,
                         condition_limit(h.plan.gram, h.parameters, t, h.rows));
    case Event::jacobian_error:
      return fmt::format("error of J {:.1e}, of the step {:.1e}", h.epsilon_j, h.contraction);
    case Event::rejected_step:
      return h.contraction_known ? fmt::format("error of the step {:.1e}", h.contraction)
                                 : "steps are rejected";
    case Event::gradient_noise:
      return fmt::format("noise {:.1e} > {:g} * nu {:.1e}", std::max(h.gradient_noise, h.grid_noise),
                         t.gradient_noise, h.nu);
    case Event::cost_noise:
      return fmt::format("cost noise {:.1e}, predicted {:.1e}", h.cost_noise, h.predicted);
    case Event::finishing:
      if (!loop.point.undamped_step.usable) return fmt::format("cost down by {:.1e}", h.last_decrease);
      return fmt::format("{:.1e} standard errors from the optimum", loop.point.undamped_step.decrement_sigma);
    default: return "no acceptable step";
  }
}

// Takes the step and linearizes its end in f64 at once. Costs in two different precisions cannot be compared.
// Gradients in the metric of H can be compared, up to the noise of the gradient below f64. Returns false if
// the step did not help.
bool finish_in(Loop& loop, const PrecisionPlan& plan) {
  if (gram_worth_keeping(loop)) return finish_with_gram_kept(loop, plan);
  System& system = *loop.system;
  propose(loop, true);
  const bool finite = linearize_end(loop, plan, loop.cost() - loop.step.predicted).finite;
  const bool falls = finite && (system.trial_gradient_falls(loop.step, 0, loop.health.gradient_noise) ||
                                !rule_active(Rule::finishing_step_lowers_gradient));
  if (!falls) {
    system.drop_trial();
    return false;
  }
  loop.trial.gain = kNaN;
  record(loop, StepOutcome::accepted, Event::finishing,
         fmt::format("{:.1e} standard errors from the optimum", loop.point.undamped_step.decrement_sigma));
  ++loop.log.escalations;
  loop.digits.plan = plan;
  take_trial(loop, true);
  end_rejections(loop.damping);
  return true;
}

// Changes the plan of the next point. The linearization of the current point is still used.
void change_next(Loop& loop, const Decision& decision, std::string reason) {
  record(loop, StepOutcome::escalated, decision.event, std::move(reason));
  if (decision.event == Event::finishing) ++loop.log.escalations;
  loop.digits.plan = decision.plan;
}

// Carries out a rule that asks for f64 residuals where residuals are always f64. The rule then means that
// derivatives are evaluated in f64.
bool widen_by_rule(Loop& loop) {
  System& system = *loop.system;
  if (!system.residuals_stay_f64() || loop.policy.rules.empty()) return false;
  const auto match = apply_rules(loop.policy.rules, rule_values(loop));
  if (!match || match->change.residual != Format::f64 || !system.evaluate_widely()) return false;
  escalate(loop, {system.at().plan, Event::rule}, loop.policy.rules[match->index].to_string());
  return true;
}

}  // namespace

void assess(Loop& loop) {
  const System& system = *loop.system;
  const PointCost& at = system.at();
  const Digits& digits = loop.digits;
  HealthReport& h = loop.health;
  h = {};
  h.plan = at.plan;
  h.finite = at.finite;
  h.nonfinite_tiles = at.nonfinite_tiles;
  h.factored = loop.step.factored;
  h.kappa_lambda = loop.step.condition;
  h.lambda = undamped(loop) ? 0 : loop.lambda();
  h.nu = loop.step.nu;
  h.predicted = loop.step.predicted;
  h.parameters = static_cast<int>(std::min<std::size_t>(system.parameters(), 1 << 30));
  h.residuals_stay_f64 = system.residuals_stay_f64();
  h.undecided_in_a_row = digits.undecided_in_a_row;
  h.rejected = digits.gram_rejected;
  h.stalled = loop.ending.stalled;
  h.descents = digits.descents;
  h.wasted = wasted_share(loop);
  h.last_decrease = digits.last_decrease;
  h.poor_predictions = digits.poor_predictions;
  if (near_optimum(loop))
    h.relative_distance = loop.point.undamped_step.decrement_sigma / loop.damping.trusted_distance;
  else if (!h.residuals_stay_f64 && next_is_near(loop)) h.relative_distance = 1;
  loop.system->measure(loop.point.x, loop.step, h);
}

bool change_precision(Loop& loop) {
  System& system = *loop.system;
  if (widen_by_rule(loop)) return true;
  const Decision decision = next_plan(loop.health, loop.policy, rule_values(loop));
  if (decision.plan == system.at().plan) return false;
  // The plan in force is already the one for the next point. x has not moved because the step was rejected.
  if (decision.event == Event::finishing && decision.at_trial && decision.plan == loop.digits.plan)
    return false;
  // A curve takes the step and evaluates its end in the new plan at once. If that step does not help, x
  // itself is evaluated again (escalate). A block problem judges the step by its cost first, like any other.
  const bool at_once =
      decision.event == Event::finishing && decision.at_trial && !system.residuals_stay_f64();
  if (at_once && finish_in(loop, decision.plan)) return true;
  std::string reason = reason_of(loop, decision);
  if (decision.plan.gram < system.at().plan.gram) ++loop.digits.descents;
  loop.digits.good_steps = loop.digits.poor_predictions = 0;
  if (decision.at_trial && !at_once) {
    change_next(loop, decision, std::move(reason));
    return false;
  }
  escalate(loop, decision, std::move(reason));
  return true;
}

void escalate(Loop& loop, Decision decision, std::string reason) {
  System& system = *loop.system;
  Damping& damping = loop.damping;
  std::vector<std::string> names = system.raise_causes(decision, loop.health, loop.policy.thresholds);
  if (!names.empty()) reason = fmt::format("{}: {}", fmt::join(names, ", "), reason);
  record(loop, StepOutcome::escalated, decision.event, std::move(reason), std::move(names));
  ++loop.log.escalations;
  const bool finer_rows = decision.plan.residual != system.at().plan.residual;
  loop.digits.wasted_work += system.pass_work(system.at().plan);
  loop.digits.plan = decision.plan;
  loop.digits.gram_rejected = false;
  loop.digits.rejected_in_a_row = 0;
  // Below f64, columns whose squares underflowed have norm zero.
  if (rule_active(Rule::escalation_forgets_scales)) loop.scale.clear();
  if (rule_active(Rule::escalation_restores_damping)) damping.trust.restore(damping.lambda_before_rejections);
  damping.trust.forgive();
  system.forget();
  loop.point.prepared = false;
  loop.point.cost_f64.reset();
  loop.digits.undecided_in_a_row = 0;
  loop.ending.stalled = false;
  damping.last_accepted = true;
  if (!finer_rows) return;
  if (loop.log.accepted == 0) system.decide_elimination_again();
  // Costs are now in f64, so a point worse than the last verified one is dropped.
  system.linearize(loop.point.x, loop.digits.plan);
  if (!system.at().finite) roll_back(loop);
}

// Linearizes the trial point, which is the first point in f64. Later its cost must be below that of the
// checkpoint. If the noise of the checkpoint's cost may leave that undecided, this pass also evaluates that
// cost; otherwise worse_than_checkpoint() would read all rows again for it. `expected_cost` is the expected
// cost of the trial point, and has the noise of the cost at x.
const PointCost& linearize_end(Loop& loop, const PrecisionPlan& plan, double expected_cost) {
  Checkpoint& checkpoint = loop.checkpoint;
  System& system = *loop.system;
  const bool clear = checkpoint.noise == 0 || expected_cost + 2 * checkpoint.noise < checkpoint.cost;
  if (clear || checkpoint.x == loop.trial.x) return system.linearize_trial(loop.trial.x, plan);
  checkpoint.cost = system.linearize_trial_beside(loop.trial.x, plan, checkpoint.x);
  checkpoint.noise = 0;
  return system.trial();
}

// Returns true if f64 shows x to be worse than the checkpoint, because low precision misled the iteration.
// The checkpoint's cost is known in f64, or in f32 up to its noise. It is evaluated in f64 only if the noise
// leaves the answer undecided.
bool worse_than_checkpoint(Loop& loop) {
  Checkpoint& checkpoint = loop.checkpoint;
  if (checkpoint.x == loop.point.x || loop.cost() + checkpoint.noise < checkpoint.cost) return false;
  if (checkpoint.noise > 0) {
    checkpoint.cost = loop.system->cost(checkpoint.x, Format::f64);
    checkpoint.noise = 0;
  }
  return loop.cost() > checkpoint.cost + loop.noise();
}

// Compares x with the checkpoint in f64, every few steps below f64.
void verify_checkpoint(Loop& loop) {
  Checkpoint& checkpoint = loop.checkpoint;
  System& system = *loop.system;
  checkpoint.unverified_steps = 0;
  if (checkpoint.noise > 0) checkpoint.cost = system.cost(checkpoint.x, Format::f64);
  checkpoint.noise = 0;
  const double cost = system.cost(loop.point.x, Format::f64);
  if (!(cost <= checkpoint.cost + loop.noise())) return roll_back(loop);
  checkpoint.x = loop.point.x;
  checkpoint.cost = cost;
  checkpoint.work = system.counted_work();
}

}  // namespace nlsq::inline v0
