// Makes one step of the loop: solves for it, proposes a trial point, judges it, and accepts or rejects it.
#include "minimizer/loop.hpp"

#include "ablation.hpp"
#include "support/constants.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

namespace {

constexpr double kPoorGain = 0.25;  // an undamped step with a lower gain ratio has not helped

using rules::Judgement;

// Solves with damping alone. For dogleg, cuts the step back to the trust region. The first radius is 100 ‖D
// x‖ (Moré 1978), or the length of the whole first step if x = 0.
void solve_at(Loop& loop, double lambda) {
  loop.system->solve(lambda, loop.step);
  if (loop.options->algorithm != Algorithm::dogleg || !loop.step.factored) return;
  TrustRegion& trust = loop.damping.trust;
  if (!trust.by_radius()) {
    const double size = 100 * loop.scaled_size(), radius = size > 0 ? size : loop.step.scaled_norm;
    if (radius > 0) trust.start_radius(radius);
  }
  if (!undamped(loop) && trust.by_radius()) loop.system->shorten_to_radius(trust.radius(), loop.step);
}

// Raises λ by factors of 4 until the model with the residuals' curvature has a minimum. Eliminated parameters
// are not damped. If no λ suffices, the model returns to JᵀJ alone.
void damp_negative_curvature(Loop& loop) {
  constexpr double kMost = 1e8;
  System& system = *loop.system;
  TrustRegion& trust = loop.damping.trust;
  while (system.curvature_in_use() && !loop.step.factored && loop.lambda() < kMost) {
    trust.restore(std::fmax(4 * loop.lambda(), 1e-6));
    system.solve(loop.lambda(), loop.step);
  }
  if (!system.curvature_in_use() || loop.step.factored) return;
  system.forget_curvature();
  trust.restore(loop.damping.lambda_before_rejections);
  loop.point.prepared = false;
  prepare_point(loop);
  solve_at(loop, loop.lambda());
}

// Damps a matrix that is singular in exact arithmetic, too. More digits would not help.
void damp_singular_matrix(Loop& loop) {
  const bool residuals_f64 = loop.system->residuals_stay_f64();
  if (loop.low_rows() || (residuals_f64 && loop.low_gram())) return;
  const double most = residuals_f64 ? TrustRegion::kMax : 1e-6;  // beyond this, a dense system uses QR
  const int patience = loop.request->observer ? loop.request->observer->most_invalid_steps() : 0;
  for (double shift = 1e-14; !loop.step.factored && shift < most; shift *= 10) {
    if (patience > 0 && loop.ending.invalid_in_a_row >= patience) break;
    if (loop.lambda() >= shift) continue;
    ++loop.ending.invalid_in_a_row;
    loop.damping.trust.restore(shift);
    solve_at(loop, shift);
  }
  if (loop.step.factored) loop.ending.invalid_in_a_row = 0;
  else if (residuals_f64) loop.ending.stalled = true;
}

// Returns true if the decrease that the damped step predicts is below the noise of the cost, and that of the
// undamped step is above it. Then x lies in a narrow valley and more damping does not help. Less damping is
// tried once per point, and no longer after three failures.
bool worth_less_damping(const Loop& loop) {
  const Damping& damping = loop.damping;
  const double gain = loop.point.undamped_step.decrement * loop.point.undamped_step.decrement;
  return !loop.low_rows() && loop.step.factored && !damping.reached_along_valley &&
         damping.failed_valley_steps < 3 && !undamped(loop) && undamped_step_known(loop) &&
         loop.step.predicted < 4 * loop.noise() && gain > 32 * loop.noise();
}

void reach_along_valley(Loop& loop) {
  TrustRegion& trust = loop.damping.trust;
  loop.damping.reached_along_valley = true;
  if (trust.by_radius()) {
    loop.system->solve(loop.lambda(), loop.step);
    trust.reach(loop.step.scaled_norm);
  }
  while (loop.step.factored && loop.lambda() > 2 * TrustRegion::kMin &&
         loop.step.predicted < 4 * loop.noise()) {
    trust.restore(loop.lambda() / 4);
    loop.system->solve(loop.lambda(), loop.step);
  }
}

double expected_bend(const Loop& loop) {
  const Damping& damping = loop.damping;
  return damping.bent_length > 0 ? damping.bend * loop.step.scaled_norm / damping.bent_length : kNaN;
}

// Decides whether to compute geodesic acceleration (options.hpp). Where derivatives cost far more than
// residuals, it pays wherever the path is curved.
bool worth_accelerating(const Loop& loop) {
  const System& system = *loop.system;
  const Geodesic wish = loop.options->geodesic;
  const bool possible =
      loop.step.factored && !undamped(loop) && !loop.damping.trust.by_radius() && !system.curvature_in_use();
  if (!possible) return false;
  if (system.residuals_stay_f64()) {
    if (wish != Geodesic::automatic) return wish == Geodesic::always;
    // It takes as many conjugate-gradient iterations as the step itself.
    return !system.solves_iteratively() && rules::worth_accelerating(expected_bend(loop), loop.trial.gain);
  }
  const bool hard = wish == Geodesic::automatic && loop.log.next - loop.log.first >= rules::kHardFit;
  // Acceleration needs f64 residuals. Below f64 that only pays when the Gram product dominates the pass.
  const bool affordable =
      !loop.low_rows() || (gradients_are_cheap(loop) && system.at().plan.gram >= Gram::f32_wide);
  return (loop.request->geodesic || hard) && affordable;
}

void accelerate(Loop& loop) {
  const double bend = loop.system->accelerate(loop.point.x, loop.scale, loop.step, rules::kMostBend);
  if (std::isnan(bend)) return;
  loop.damping.bend = bend;
  loop.damping.bent_length = loop.step.scaled_norm;
}

// Returns true if it has paid so far to evaluate the cost alone, before the pass with the Gram matrix. The
// cost alone is at most as expensive as a gradient. With few parameters even that is too expensive. Residuals
// that a call of the user's code gives are kept for the pass, so asking for them first costs nothing.
bool worth_asking_cost_first(const Loop& loop) {
  const Digits& digits = loop.digits;
  if (loop.system->residuals_stay_f64() || loop.request->by_calls) return true;
  if (digits.first_rejected == 0 || !gradients_are_cheap(loop)) return false;
  const double ask = loop.system->gradient_work(), pass = loop.system->pass_work(digits.plan);
  return digits.first_rejected * (pass - ask) > digits.first_accepted * ask;
}

// Nonmonotonic acceptance: returns true if the cost lies below that of the reference point by enough of the
// decrease predicted since then, even if it has risen in the last step.
bool falls_from_reference(Loop& loop, double after, double noise) {
  Nonmonotonic& path = loop.nonmonotonic;
  if (!path.on() || loop.low_rows() || !(loop.step.predicted > 0)) return false;
  if (!path.started()) path.start(loop.cost());
  const double decrease = path.decrease(after), promised = path.promised(loop.step.predicted);
  if (!(decrease - noise >= rules::kLeastGain * promised)) return false;
  loop.trial.gain = std::fmax(loop.trial.gain, decrease / promised);
  return true;
}

// Returns true if a rise of the cost may be rounding that the noise does not include. The noise of a block
// problem's cost does not include rounding inside the user's functions: sin(1e6 + p) rounds like 1e6. If the
// rise and the predicted decrease are both tiny beside the cost, the costs cannot decide.
bool rejected_by_rounding(const Loop& loop, double before) {
  constexpr double kSmall = 1e-11;  // of the cost
  return loop.system->residuals_stay_f64() && !loop.low_rows() && !loop.low_gram() && loop.step.factored &&
         loop.step.predicted <= kSmall * before && -loop.trial.decrease <= kSmall * before;
}

// Accepts or rejects the step by the costs. Returns false if the noise covers their difference.
bool judge_costs(Loop& loop, double before, double after, double noise) {
  Trial& trial = loop.trial;
  const double f64_gain = loop.request->observer ? loop.request->observer->least_gain() : rules::kLeastGain;
  const bool demanding = loop.low_rows() && rule_active(Rule::gain_ratio_below_f64);
  // A step that was changed to stay within bounds may have a negative predicted decrease. It must still not
  // raise the cost.
  const double predicted = std::max(loop.step.predicted, 0.0);
  const double least = (demanding ? loop.policy.thresholds.gain_ratio : f64_gain) * predicted;
  trial.decrease = before - after;
  trial.gain = trial.decrease / loop.step.predicted;
  trial.judgement = rules::judge(before, after, least, noise);
  if (trial.judgement == Judgement::reject && falls_from_reference(loop, after, noise))
    trial.judgement = Judgement::accept;
  if (trial.judgement == Judgement::reject && rejected_by_rounding(loop, before))
    trial.judgement = Judgement::undecided;
  return trial.judgement != Judgement::undecided;
}

// Near the optimum, rounding hides cost differences but not the gradient. Accepts the step if the gradient
// falls in the metric of H. A step that is hardly damped must lower the gradient by some percent. Otherwise
// the model is wrong, and the loop could alternate between two points without end.
void judge_by_gradient(Loop& loop) {
  System& system = *loop.system;
  Trial& trial = loop.trial;
  if (!system.trial_known()) system.linearize_trial(trial.x, loop.digits.plan);
  // The step is longer than x and the residuals, but predicts a decrease too small for f64 to show. The data
  // do not determine such a direction.
  const bool far = loop.step.scaled_norm > std::max(loop.scaled_size(), std::sqrt(2 * loop.cost()));
  constexpr double kLeastFall = 0.05;
  const double slack = hardly_damped(loop) ? -kLeastFall * system.gradient_left(loop.step) : 0;
  const bool falls = !far && system.trial().finite &&
                     system.trial_gradient_falls(loop.step, undamped(loop) ? 0 : loop.lambda(), slack);
  trial.judgement = falls ? Judgement::accept : Judgement::reject;
  trial.gain = falls ? gain_by_gradients(loop) : kNaN;
  if (!falls && loop.step.scaled_norm == 0) loop.ending.stalled = true;
}

// Judges the trial by its cost. Where noise covers the difference, evaluates both costs in f64 or compares
// gradients.
void judge_trial_cost(Loop& loop) {
  System& system = *loop.system;
  const double noise = loop.low_rows() ? system.probed_cost_noise() : loop.noise();
  if (judge_costs(loop, loop.cost(), loop.trial.cost, noise)) {
    loop.digits.undecided_in_a_row = 0;
    return;
  }
  if (!loop.low_rows() && !(system.residuals_stay_f64() && loop.low_gram())) return judge_by_gradient(loop);
  if (!loop.low_rows()) {  // only J needs more digits
    loop.trial.judgement = Judgement::reject;
    loop.ending.stalled = true;
    return;
  }
  // Costs of different precisions are never subtracted. Both are evaluated in f64.
  ++loop.digits.undecided_in_a_row;
  if (!rule_active(Rule::undecided_steps_are_judged_in_f64)) {
    loop.trial.judgement = Judgement::reject;
    return;
  }
  if (!loop.point.cost_f64) loop.point.cost_f64 = system.cost(loop.point.x, Format::f64);
  const double after = system.cost(loop.trial.x, Format::f64);
  if (!judge_costs(loop, *loop.point.cost_f64, after, loop.noise())) {
    loop.trial.judgement = Judgement::reject;
    loop.ending.stalled = true;
  }
}

// Raises the damping after a rejection, except where an undamped step failed or the Gram matrix may be too
// inaccurate.
void reject(Loop& loop, bool was_undamped) {
  Damping& damping = loop.damping;
  Digits& digits = loop.digits;
  const bool first = damping.last_accepted;
  damping.last_accepted = false;
  if (was_undamped) note_undamped(damping, false);
  constexpr double kClose = 1e-3;  // With a smaller cosine, rough derivatives may be why the step failed.
  if (loop.request->by_calls && loop.system->gradient_cosine(loop.point.x) <= kClose &&
      loop.system->forget_rough(loop.point.x))
    return;
  constexpr double kShort = 0.01;                                                          // standard errors
  const bool counts = loop.request->stops_at_kinks && !loop.system->residuals_stay_f64();  // for curves
  if (counts && loop.trial.decrease < 0 && loop.step.nu <= kShort * loop.sigma() &&
      loop.point.undamped_step.condition <= rules::kNormalCondition)
    ++loop.ending.stagnation.short_rises;
  // A failed undamped step does not show that λ is too small. A damped step is tried next.
  if (was_undamped && !damping.trust.by_radius()) return;
  digits.good_steps = digits.poor_predictions = 0;
  ++digits.rejected_in_a_row;
  // Before λ grows, the scheduler may raise the precision of the Gram matrix once. Where no sample
  // measures the effect of that rounding, it waits for a second rejection.
  constexpr int kPatience = 2;
  const HealthReport& health = loop.health;
  const bool suspect = health.contraction_known
                           ? health.contraction > loop.policy.thresholds.rejected_contraction
                           : digits.rejected_in_a_row >= kPatience;
  if (digits.plan.gram < Gram::f64 && !digits.gram_rejected && suspect) {
    digits.gram_rejected = true;
    return;
  }
  damping.trust.rejected(loop.step.scaled_norm, loop.trial.judgement != Judgement::invalid);
  if (damping.trust.exhausted()) loop.ending.stalled = true;
  if (damping.reached_along_valley && first) ++damping.failed_valley_steps;
  damping.trusted_distance = 1;
}

void lower_damping(Loop& loop) {
  TrustRegion& trust = loop.damping.trust;
  const double gain = loop.trial.gain, bend = expected_bend(loop);
  if (!loop.system->residuals_stay_f64()) return trust.accepted(gain, loop.step.scaled_norm);
  // A rejection costs no derivatives. So a step with a gain ratio above 0.5 at least halves λ. Soon after a
  // rejection it does not: if half the damping were too little, every second step would be rejected.
  constexpr int kSteps = 3;
  const bool eager = gain > 0.5 && (loop.log.rejected == 0 || loop.digits.good_steps >= kSteps);
  trust.accepted(eager ? std::max(gain, 0.9) : gain, loop.step.scaled_norm);
  if (!trust.by_radius() && rules::model_was_exact(bend, gain))
    trust.restore(std::max(TrustRegion::kMin, 0.1 * trust.lambda()));
}

void accept(Loop& loop, bool was_undamped) {
  Damping& damping = loop.damping;
  Digits& digits = loop.digits;
  const double scale = std::max(loop.cost(), std::numeric_limits<double>::min()), ftol = loop.options->ftol;
  const double decrease = loop.trial.decrease;
  if (!loop.low_rows() && ftol > 0 && std::fabs(decrease) <= ftol * scale &&
      loop.step.predicted <= ftol * scale) {
    loop.ending.stopped_by = "the cost's decrease fell below ftol in f64";
  }
  digits.last_decrease = decrease / scale;
  take_trial(loop, was_undamped);
  lower_damping(loop);
  if (loop.nonmonotonic.started() && loop.nonmonotonic.accepted(loop.cost(), loop.step.predicted)) {
    loop.checkpoint.x = loop.point.x;
    loop.checkpoint.cost = loop.cost();
    loop.checkpoint.noise = 0;
  }
  if (was_undamped) note_undamped(damping, loop.trial.gain > kPoorGain);
  else if (damping.undamped_waits > 0) --damping.undamped_waits;
  if (damping.reached_along_valley && damping.last_accepted) damping.failed_valley_steps = 0;
  end_rejections(damping);
  damping.reached_along_valley = false;
  loop.ending.held_off = false;
  loop.ending.met_by_rejection.clear();
  digits.gram_rejected = false;
  digits.rejected_in_a_row = 0;
  ++digits.good_steps;
  constexpr double kOffBy = 0.5;
  const bool poor = !(std::fabs(loop.trial.gain - 1) <= kOffBy);
  digits.poor_predictions = poor ? digits.poor_predictions + 1 : 0;
  if (!loop.low_rows() || !rule_active(Rule::checkpoints_are_verified)) return;
  if (++loop.checkpoint.unverified_steps >= loop.policy.thresholds.checkpoint_steps) verify_checkpoint(loop);
}

}  // namespace

void solve_step(Loop& loop) {
  const auto begin = Clock::now();
  loop.system->set_solve_accuracy(std::max(loop.digits.last_decrease, std::numeric_limits<double>::min()));
  solve_at(loop, undamped(loop) ? 0 : loop.lambda());
  damp_negative_curvature(loop);
  damp_singular_matrix(loop);
  if (worth_less_damping(loop)) reach_along_valley(loop);
  loop.log.time.solve += seconds_since(begin);
}

void propose(Loop& loop, bool exact) {
  if (worth_accelerating(loop)) accelerate(loop);
  if (undamped(loop)) loop.system->correct_undamped_step(loop.point.x, loop.approach(), loop.step);
  loop.system->plus(loop.point.x, loop.step, loop.trial.x, exact);
}

void judge(Loop& loop) {
  System& system = *loop.system;
  Trial& trial = loop.trial;
  system.drop_trial();
  trial.gain = kNaN;
  const bool nowhere =
      undamped(loop) && rules::leads_nowhere(loop.step.scaled_norm, loop.scaled_size(), loop.cost());
  if (trial.x == loop.point.x || !loop.step.factored || nowhere) {
    trial.judgement = Judgement::reject;
    trial.cost = trial.x == loop.point.x ? loop.cost() : kNaN;  // nothing was evaluated
    trial.decrease = 0;
    loop.ending.stalled = loop.ending.stalled || trial.x == loop.point.x;
    return;
  }
  // After an accepted step the next is likely to be accepted, too. So one pass gives cost and linearization.
  if ((loop.damping.last_accepted && !worth_asking_cost_first(loop)) || system.trial_needs_linearization()) {
    const PointCost& there = system.linearize_trial(trial.x, loop.digits.plan, !undamped(loop));
    trial.cost = there.finite ? there.cost : kNaN;
  } else {
    trial.cost = system.cost(trial.x, loop.digits.plan.residual);
  }
  if (!std::isfinite(trial.cost)) {
    trial.judgement = Judgement::invalid;
    return;
  }
  judge_trial_cost(loop);
}

std::string tell_observer(Loop& loop, StepOutcome outcome) {
  if (!loop.request->observer) return {};
  const Trial& trial = loop.trial;
  return loop.request->observer->test_step(loop.point.x, trial.x, loop.cost(), trial.cost, trial.gain,
                                           outcome, loop.step, loop.log.accepted);
}

// Handles a step that met one of the user's tolerances. If derivatives are below f64, the tolerance must be
// confirmed in f64. A rejected step may be short only because it was damped, so the certificate is formed
// before such a step ends the solve.
static void meet_tolerance(Loop& loop, std::string met, bool accepted) {
  const bool low = loop.system->residuals_stay_f64() && loop.digits.plan.gram < Gram::f64;
  if (!accepted) {
    loop.ending.met_by_rejection = met;
    loop.ending.stalled = loop.ending.stalled || !low;
    if (loop.ending.stalled) return;
  }
  if (low) escalate(loop, {kF64Plan, Event::finishing}, std::move(met));
  else loop.ending.stopped_by = std::move(met);
}

void accept_or_reject(Loop& loop) {
  System& system = *loop.system;
  Trial& trial = loop.trial;
  const bool was_undamped = undamped(loop);
  const auto outcome = [&] {
    if (trial.judgement == Judgement::accept) return StepOutcome::accepted;
    return trial.judgement == Judgement::invalid ? StepOutcome::invalid : StepOutcome::rejected;
  };
  // Residuals may be finite where derivatives are not. The iteration cannot go on from such a point.
  if (trial.judgement == Judgement::accept && !system.trial_known()) {
    if (!system.linearize_trial(trial.x, loop.digits.plan).finite) trial.judgement = Judgement::invalid;
  }
  std::string met = tell_observer(loop, std::isfinite(trial.cost) ? outcome() : StepOutcome::invalid);
  const bool accepted = trial.judgement == Judgement::accept;
  record(loop, outcome(), Event::none,
         system.curvature_in_use() ? "with the curvature of the residuals" : "");
  if (loop.damping.last_accepted) ++(accepted ? loop.digits.first_accepted : loop.digits.first_rejected);
  const TriedStep tried{loop.point.x,       trial.x,          trial.decrease, trial.cost, accepted,
                        loop.step.factored, loop.log.accepted};
  if (system.learn(tried)) loop.point.prepared = false;
  if (accepted) accept(loop, was_undamped);
  else reject(loop, was_undamped);
  if (!met.empty()) meet_tolerance(loop, std::move(met), accepted);
}

}  // namespace nlsq::inline v0
