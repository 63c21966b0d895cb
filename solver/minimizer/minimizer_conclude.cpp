// Implements the end of a solve: the certificate, and how the iteration continues if the certificate fails.
#include "minimizer/loop.hpp"

#include "ablation.hpp"
#include "certificate/certificate.hpp"
#include "support/constants.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nlsq::inline v0 {

namespace {

constexpr int kCertificateTries = 5;
// The same limit where the squares of the residuals underflow, so that the cost cannot show whether a step is
// good. In fits of a linear model to y = 0 each step leaves 2⁻⁵³ of the residuals, so twenty steps are enough
// to get from 2⁻⁵¹¹ to 0.
constexpr int kTriesBelowSquares = 20;
constexpr int kPolishSteps = 100;

void solve_undamped_here(Loop& loop) {
  loop.system->solve_undamped(loop.point.x, 0, kInfinity, loop.point.undamped_step);
}

// Sets the trial point to the end of an undamped step from x.
void propose_whole(Loop& loop, const UndampedStep& s0) {
  loop.whole_step.step = s0.step;
  loop.whole_step.held = s0.held;
  loop.system->plus(loop.point.x, loop.whole_step, loop.trial.x, true);
}

// Returns by how much a step may raise the cost so that rounding still explains it. For a block problem,
// loop.noise() is a bound that contains |J| |x|. Wrong derivatives can make it far larger than the cost
// itself.
double believable_noise(const Loop& loop) {
  constexpr double kMost = 1e-6, kOfStart = 1e-20;  // of the cost here, and of that at the start
  if (!loop.system->residuals_stay_f64()) return loop.noise();
  return std::min(loop.noise(), std::max(kMost * loop.cost(), kOfStart * loop.summary.initial_cost));
}

// Linearizes the trial point. Returns false, and drops the trial, if it is not finite or raises the cost
// beyond rounding. If residuals alone are cheap, the cost is computed first.
bool trial_does_not_raise_cost(Loop& loop, const PrecisionPlan& plan) {
  System& system = *loop.system;
  const double most = loop.cost() + believable_noise(loop);
  if (system.residuals_stay_f64() && !(system.cost(loop.trial.x, Format::f64) <= most)) return false;
  const PointCost& there = system.linearize_trial(loop.trial.x, plan);
  if (there.finite && there.cost <= most) return true;
  system.drop_trial();
  return false;
}

// Returns true if polish() should stop to save calls of the user's code, which may be slow. Digits beyond
// xtol are worth their calls only where residuals vanish. There, terms of many sizes vanish one after the
// other, and the certificate needs all of them.
bool has_enough_digits(const Loop& loop) {
  constexpr double kVanishing = 1e-20;  // of the cost at the start
  return loop.request->by_calls && loop.point.undamped_step.step_size <= loop.options->xtol &&
         loop.cost() > kVanishing * loop.summary.initial_cost;
}

// Continues with undamped steps until ν₀ stops falling. It is used only for problems whose passes cost almost
// nothing.
void polish(Loop& loop) {
  System& system = *loop.system;
  Point& point = loop.point;
  UndampedStep &s0 = point.undamped_step, &next = loop.next_undamped_step;
  for (int k = 0; k < kPolishSteps && s0.usable && s0.decrement > 0; ++k) {
    if (has_enough_digits(loop)) return;
    propose_whole(loop, s0);
    if (loop.trial.x == point.x) return;
    if (!trial_does_not_raise_cost(loop, loop.digits.plan)) return;
    point.x.swap(loop.trial.x);
    system.accept_trial();
    system.solve_undamped(point.x, 0, kInfinity, next);
    if (!next.usable || !(next.decrement < s0.decrement)) {
      point.x.swap(loop.trial.x);
      system.restore_point();
      return;
    }
    std::swap(s0, next);
  }
}

// Takes the undamped step if it ends on a bound that x has not reached. This step may be too short for the
// cost to show, but a parameter counts as fixed only if it lies exactly on its bound.
void settle_on_bounds(Loop& loop) {
  System& system = *loop.system;
  const UndampedStep& s0 = loop.point.undamped_step;
  if (!s0.usable || s0.held.empty()) return;
  bool short_of_one = false;
  for (std::size_t j = 0; j < s0.held.size(); ++j) {
    short_of_one = short_of_one || (s0.held[j] != Held::none && s0.step[j] != 0);
  }
  if (!short_of_one) return;
  propose_whole(loop, s0);
  if (!trial_does_not_raise_cost(loop, loop.digits.plan)) return;
  loop.point.x.swap(loop.trial.x);
  system.accept_trial();
  solve_undamped_here(loop);
}

// Takes the step that the certificate computed, if it does not raise the cost. A block problem's step may
// follow second derivatives, or lead beyond the range of the linear model, so it is halved a few times.
// There, a step that lowers the cost by more than rounding may be taken any number of times. All other steps
// are limited in number; the gradient judges them in the next certificate.
bool take_certified_step(Loop& loop) {
  constexpr int kHalvings = 8;
  constexpr double kWorth = 1e-6;  // of the cost: steps that lower it by less are limited in number, too
  System& system = *loop.system;
  Ending& ending = loop.ending;
  const bool residuals_f64 = system.residuals_stay_f64();
  const PrecisionPlan finest = residuals_f64 ? kF64Plan : kQrPlan;
  const int tries = loop.rounding.end.underflow ? kTriesBelowSquares : kCertificateTries;
  if (!residuals_f64 && ending.failed_certificates >= tries) return false;
  UndampedStep& next = loop.next_undamped_step;
  next.step = loop.certified.step;
  next.held.clear();
  for (int k = 0; k <= (residuals_f64 ? kHalvings : 0); ++k) {
    propose_whole(loop, next);
    if (loop.trial.x == loop.point.x) return false;
    if (!trial_does_not_raise_cost(loop, finest)) {
      for (double& s : next.step) s *= 0.5;
      continue;
    }
    const double fall = std::max(loop.noise(), kWorth * loop.cost());
    const bool falls = residuals_f64 && system.trial().cost < loop.cost() - fall;
    if (!falls && ++ending.failed_certificates > tries) {
      system.drop_trial();
      return false;
    }
    loop.trial.gain = kNaN;
    loop.trial.cost = system.trial().cost;
    if (residuals_f64) {
      tell_observer(loop, StepOutcome::accepted);
      record(loop, StepOutcome::accepted, Event::none, "the certificate's own step");
    }
    take_trial(loop, false);
    loop.digits.plan = finest;
    ending.stalled = ending.held_off = false;
    return true;
  }
  return false;
}

// Continues from x with less damping when nothing else is left to try. If the loop stalled, it continues with
// the initial damping.
bool reopen(Loop& loop) {
  constexpr int kTimes = 5;
  constexpr double kLessDamping = 1e-3;
  Ending& ending = loop.ending;
  const bool stalled = ending.stalled;
  if (!loop.system->residuals_stay_f64() || ending.reopened >= (stalled ? 1 : kTimes)) return false;
  ++ending.reopened;
  ending.stalled = false;
  ending.held_off = true;
  loop.point.prepared = false;
  loop.damping.last_accepted = true;
  const double less = std::max(TrustRegion::kMin, kLessDamping * loop.lambda());
  loop.damping.trust.restore(stalled ? loop.options->initial_lambda : less);
  return true;
}

// Continues from x, which is linearized again, with the damping that it had before steps were rejected.
void start_again_here(Loop& loop) {
  Damping& damping = loop.damping;
  loop.point.prepared = false;
  loop.ending.stalled = false;
  damping.last_accepted = true;
  damping.trust.restore(std::min(damping.lambda_before_rejections, loop.options->initial_lambda));
  damping.trust.forgive();
}

// Continues from x after a change to more accurate differences.
void go_on_with_better_derivatives(Loop& loop) {
  loop.system->forget();
  start_again_here(loop);
  loop.ending.failed_certificates = 0;
  loop.ending.met_by_rejection.clear();
  loop.ending.stagnation = {};
}

// Enlarges the errors in the certificate by the bounds of the last step, because no pass was made at its end.
// Returns false if the point is not certified; then it needs a pass after all.
bool widen_by_last_step(Loop& loop) {
  const LastStep step = *loop.ending.last_step;
  loop.ending.last_step.reset();
  Certificate& c = loop.certified.certificate;
  if (!loop.certified.first_order || loop.system->by_qr()) {
    loop.ending.last_step_failed = true;
    loop.system->forget();
    loop.point.prepared = false;
    return false;
  }
  c.last_step = step.size;
  c.step = std::max(c.step, step.left);
  c.decrement_sigma = std::max(c.decrement_sigma, step.left_sigma);
  c.covariance_error = std::max(c.covariance_error, step.gram_change);
  return true;
}

// Handles a failed certificate: x may not be the optimum. Returns false if the iteration goes on.
bool ends_without_certificate(Loop& loop) {
  System& system = *loop.system;
  if (system.certificate_was_cut_short() && loop.ending.stopped_by.empty() && !loop.ending.stalled) {
    loop.ending.cut_short = true;
    loop.ending.stopped_by = "the damped step met the tests of first order in f64";
  }
  if (!loop.ending.stopped_by.empty()) {
    // A tolerance does not end the solve on a saddle, since the way down is known. The tolerance is put aside
    // while that step is tried, and counts again if the step fails.
    const std::string met = std::exchange(loop.ending.stopped_by, {});
    if (system.certificate_found_lower() && take_certified_step(loop)) return false;
    loop.ending.stopped_by = met;
    // With exact data one more step may be enough for a certificate. The tolerance holds at its end, too.
    if (system.certificate_promises_zero() && take_certified_step(loop)) return false;
    loop.summary.termination = Termination::tolerance;
    return true;
  }
  // test_for_end() was true with the rounding measured at the start, where the terms of r may be larger. With
  // the rounding at x it may be false. Then the iteration goes on.
  if (!test_for_end(loop)) {
    loop.point.prepared = false;
    return false;
  }
  // Only a QR pass could show that x is not the optimum.
  if (loop.digits.plan.gram != Gram::qr && system.by_qr()) {
    loop.digits.plan.gram = Gram::qr;
    start_again_here(loop);
    return false;
  }
  if (take_certified_step(loop) || reopen(loop) || continue_extrapolated(loop)) return false;
  loop.ending.stopped_by = loop.ending.met_by_rejection;
  loop.summary.termination =
      loop.ending.stopped_by.empty() ? Termination::no_progress : Termination::tolerance;
  return true;
}

// Linearizes x in f64, unless it is known so already, with the most accurate derivatives in use.
void make_known_in_f64(Loop& loop) {
  System& system = *loop.system;
  // The plan in force may be below f64 although x has not been linearized in it yet.
  if (loop.low_rows() || loop.low_gram() || loop.digits.plan.gram < Gram::f64) {
    loop.digits.plan = kF64Plan;
    system.forget();
  }
  system.forget_rough(loop.point.x);
  if (system.known()) return;
  system.linearize(loop.point.x, loop.digits.plan);
  loop.point.prepared = false;
  solve_undamped_here(loop);
}

CertificateTests tests_here(const Loop& loop, Termination reason) {
  const SolverOptions& options = *loop.options;
  const Ending& ending = loop.ending;
  const bool no_progress = reason == Termination::no_progress;
  return {.tau = options.tau,
          .xtol = options.xtol,
          .gtol = options.gtol,
          .magnitude = loop.rounding.magnitude,
          .initial_cost = loop.summary.initial_cost,
          .column_magnitude = loop.rounding.column_magnitude,
          .underflow = loop.rounding.end.underflow,
          .room = loop.system->room(loop.point.x),
          .unfinished = loop.log.steps > 0 && reason != Termination::converged && !no_progress,
          .no_progress = loop.log.steps == 0 || !loop.damping.last_accepted || ending.stalled ||
                         ending.failed_certificates > 0 || no_progress,
          .stopped = !ending.stopped_by.empty()};
}

// Certifies x, or the checkpoint if that is better. Returns false if the iteration goes on.
bool certify_here(Loop& loop, Termination reason) {
  System& system = *loop.system;
  const bool converged = reason == Termination::converged;
  make_known_in_f64(loop);
  if (worse_than_checkpoint(loop) && rule_active(Rule::certificate_beside_checkpoint)) {
    roll_back(loop);
    if (converged) return false;
    if (!system.at().finite) {
      loop.summary.termination = Termination::failure;
      return true;
    }
  }
  if (converged && system.passes_are_cheap()) polish(loop);
  if (converged) settle_on_bounds(loop);
  recheck_here(loop, kRowsOfCertificate, loop.rounding.end);
  const CertificateTests tests = tests_here(loop, reason);
  Certified& certified = loop.certified;
  system.certify(loop.point.x, tests, certified);
  if (loop.ending.last_step && !widen_by_last_step(loop)) return false;
  if (certified.first_order &&
      system.extrapolate_rough_derivatives(loop.point.x, certified.certificate, tests)) {
    certified.first_order = false;
    if (converged) {
      go_on_with_better_derivatives(loop);
      return false;
    }
    system.forget();
    return certify_here(loop, reason);
  }
  loop.summary.termination = certified.first_order ? Termination::converged : reason;
  return certified.first_order || !converged || ends_without_certificate(loop);
}

}  // namespace

void recheck_here(Loop& loop, std::size_t rows, Recheck& out) {
  RoundingSizes& rounding = loop.rounding;
  System& system = *loop.system;
  system.recheck(loop.point.x, loop.options->strict ? system.residuals() : rows, out);
  rounding.magnitude = out.magnitude;
  rounding.cost_magnitude = out.cost_magnitude > 0 ? out.cost_magnitude : out.magnitude;
  rounding.column_magnitude = out.column_magnitude;
}

// Continues from x with the most accurate differences. An attempt does this once. Ordinary differences have a
// relative error of 1e-10 or more, and far more where the function curves strongly. Such an error can keep
// the first-order tests from ever holding at a minimum. If the rounding of the residuals limits the fit, more
// accurate derivatives do not help.
bool continue_extrapolated(Loop& loop) {
  if (limited_by_rounding(loop) || !loop.system->extrapolate_derivatives()) return false;
  go_on_with_better_derivatives(loop);
  return true;
}

bool take_last_step(Loop& loop) {
  if (loop.options->strict || loop.ending.last_step_failed || loop.low_rows() || loop.low_gram())
    return false;
  if (loop.system->at().plan.gram != Gram::f64 || !undamped(loop)) return false;
  const bool on_bounds = !loop.step.held.empty() || !loop.point.undamped_step.held.empty();
  if (on_bounds) return false;  // Whether a bound still holds is known only after a pass at the new point.
  const auto step = loop.system->last_step(loop.point.x, loop.approach(), loop.options->tau,
                                           loop.options->xtol, loop.trial.x, loop.ending.last_step_failed);
  if (!step) return false;
  record(loop, StepOutcome::accepted, Event::last_step,
         fmt::format("{:.1e} standard errors will be left", step->left_sigma));
  loop.ending.last_step = step;
  take_trial(loop, true);
  solve_undamped_here(loop);
  return true;
}

bool observe(Loop& loop) {
  StepObserver& observer = *loop.request->observer;
  std::string met = observer.test_point(loop.point.x);
  if (!met.empty() && loop.low_gram()) {
    escalate(loop, {kF64Plan, Event::finishing}, std::move(met));
    return true;
  }
  if (observer.report(loop.point.x, loop.cost(), loop.lambda()) == CallbackResult::stop)
    loop.ending.stop_asked = true;
  if (!met.empty()) loop.ending.stopped_by = std::move(met);
  return false;
}

bool conclude(Loop& loop, Termination reason) {
  const auto begin = Clock::now();
  const bool concluded = certify_here(loop, reason);
  loop.log.time.certify += seconds_since(begin);
  return concluded;
}

}  // namespace nlsq::inline v0
