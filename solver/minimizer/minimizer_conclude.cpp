// The end of a solve: first-order tests and the certificate.
#include "minimizer/loop.hpp"

#include "ablation.hpp"
#include "certificate/certificate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

namespace {

constexpr int kCertificateTries = 5;
// The same where the squares of the residuals underflow, so that no cost tells whether a step is good. In
// fits of a linear model to y = 0 each step leaves 2⁻⁵³ of the residuals, and twenty steps lead from 2⁻⁵¹¹ to
// 0.
constexpr int kTriesBelowSquares = 20;
constexpr int kPolishSteps = 100;

void first_order_here(Loop& loop) {
  loop.system->first_order(loop.point.x, 0, std::numeric_limits<double>::infinity(), loop.point.first);
}

// Continues with undamped steps until ν₀ stops falling. Only for problems whose passes cost almost nothing.
void polish(Loop& loop) {
  System& system = *loop.system;
  Point& point = loop.point;
  for (int k = 0; k < kPolishSteps && point.first.usable && point.first.decrement > 0; ++k) {
    system.plus(point.x, point.first, loop.trial.x);
    if (loop.trial.x == point.x) return;
    const PointModel& there = system.linearize_trial(loop.trial.x, loop.digits.plan);
    if (!there.finite || there.cost > loop.cost() + loop.noise()) return;
    point.x.swap(loop.trial.x);
    system.accept_trial();
    system.first_order(point.x, 0, std::numeric_limits<double>::infinity(), loop.next_first);
    if (!loop.next_first.usable || !(loop.next_first.decrement < point.first.decrement)) {
      point.x.swap(loop.trial.x);
      system.restore_point();
      return;
    }
    std::swap(point.first, loop.next_first);
  }
}

// Takes the undamped step if it ends on a bound that x has not reached. This step may be too short for the
// cost to show, but a parameter counts as fixed only if it lies exactly on its bound.
void settle_on_bounds(Loop& loop) {
  System& system = *loop.system;
  const FirstOrder& first = loop.point.first;
  if (!first.usable || first.held.empty()) return;
  bool short_of_one = false;
  for (std::size_t j = 0; j < first.held.size(); ++j) {
    short_of_one = short_of_one || (first.held[j] != Held::none && first.step[j] != 0);
  }
  if (!short_of_one) return;
  system.plus(loop.point.x, first, loop.trial.x);
  const PointModel& there = system.linearize_trial(loop.trial.x, loop.digits.plan);
  if (!there.finite || there.cost > loop.cost() + loop.noise()) return system.drop_trial();
  loop.point.x.swap(loop.trial.x);
  system.accept_trial();
  first_order_here(loop);
}

// Linearizes the trial point. Returns false, and drops the trial, if it is not finite or raises the cost
// beyond rounding. If residuals alone are cheap, the cost is computed first.
bool trial_does_not_raise_cost(Loop& loop, const PrecisionPlan& plan) {
  System& system = *loop.system;
  const double most = loop.cost() + loop.noise();
  if (system.residuals_stay_f64() && !(system.cost(loop.trial.x, Format::f64) <= most)) return false;
  const PointModel& there = system.linearize_trial(loop.trial.x, plan);
  if (there.finite && there.cost <= most) return true;
  system.drop_trial();
  return false;
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
  const bool apart = system.residuals_stay_f64();
  const PrecisionPlan finest = system.finest_plan();
  const int tries = loop.rounding.end.underflow ? kTriesBelowSquares : kCertificateTries;
  if (!apart && ending.failed_certificates >= tries) return false;
  loop.next_first.step = loop.certified.step;
  loop.next_first.held.clear();
  for (int k = 0; k <= (apart ? kHalvings : 0); ++k) {
    system.plus(loop.point.x, loop.next_first, loop.trial.x);
    if (loop.trial.x == loop.point.x) return false;
    if (!trial_does_not_raise_cost(loop, finest)) {
      for (double& s : loop.next_first.step) s *= 0.5;
      continue;
    }
    const double fall = std::max(loop.noise(), kWorth * loop.cost());
    const bool falls = apart && system.trial().cost < loop.cost() - fall;
    if (!falls && ++ending.failed_certificates > tries) {
      system.drop_trial();
      return false;
    }
    loop.trial.gain = std::numeric_limits<double>::quiet_NaN();
    loop.trial.cost = system.trial().cost;
    if (apart) {
      tell_observer(loop, StepOutcome::accepted);
      record(loop, StepOutcome::accepted, Event::none, "the certificate's own step");
    }
    move_to_trial(loop, false);
    system.accept_trial();
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

// Continues from x with the most accurate differences. An attempt does this once. Ordinary differences have a
// relative error of 1e-10 or more, and far more where the function curves strongly. Such an error can keep
// the first-order tests from ever holding at a minimum. If the rounding of the residuals limits the fit, more
// accurate derivatives do not help.
bool continue_extrapolated(Loop& loop) {
  if (limited_by_rounding(loop) || !loop.system->extrapolate_derivatives()) return false;
  loop.system->forget();
  loop.point.prepared = false;
  Ending& ending = loop.ending;
  ending.stalled = false;
  ending.failed_certificates = 0;
  ending.met_by_rejection.clear();
  ending.stagnation = {};
  Damping& damping = loop.damping;
  damping.last_accepted = true;
  damping.trust.restore(std::min(damping.lambda_before_rejections, loop.options->initial_lambda));
  damping.trust.forgive();
  return true;
}

// Handles a failed certificate: x may not be the optimum. Returns false if the iteration goes on.
bool ends_without_certificate(Loop& loop) {
  System& system = *loop.system;
  Damping& damping = loop.damping;
  if (system.certificate_was_cut_short() && loop.ending.stopped_by.empty() && !loop.ending.stalled) {
    loop.ending.cut_short = true;
    loop.ending.stopped_by = "the damped step met the tests of first order in f64";
  }
  if (!loop.ending.stopped_by.empty()) {
    loop.summary.termination = Termination::tolerance;
    return true;
  }
  // `reached` was true with the rounding measured at the start, where the terms of r may be larger. With the
  // rounding at x it is not, so the iteration goes on.
  if (!reached(loop)) {
    loop.point.prepared = false;
    return false;
  }
  // Only QR could show that this is not the optimum.
  if (loop.digits.plan.gram != Gram::qr && system.by_qr()) {
    loop.digits.plan.gram = Gram::qr;
    loop.point.prepared = false;
    loop.ending.stalled = false;
    damping.last_accepted = true;
    damping.trust.restore(std::min(damping.lambda_before_rejections, loop.options->initial_lambda));
    damping.trust.forgive();
    return false;
  }
  if (take_certified_step(loop) || reopen(loop) || continue_extrapolated(loop)) return false;
  loop.ending.stopped_by = loop.ending.met_by_rejection;
  loop.summary.termination =
      loop.ending.stopped_by.empty() ? Termination::no_progress : Termination::tolerance;
  return true;
}

bool certify_here(Loop& loop, Termination reason) {
  System& system = *loop.system;
  // The plan in force may be below f64 although x has not been linearized in it yet.
  if (loop.low_rows() || loop.low_gram() || loop.digits.plan.gram < Gram::f64) {
    loop.digits.plan = {Format::f64, Gram::f64};
    system.forget();
  }
  if (system.rough(loop.point.x)) system.forget();
  if (!system.known()) {
    system.linearize(loop.point.x, loop.digits.plan);
    loop.point.prepared = false;
    first_order_here(loop);
  }
  if (worse_than_checkpoint(loop) && rule_active(Rule::certificate_beside_checkpoint)) {
    roll_back(loop);
    if (reason == Termination::converged) return false;
    if (!system.at().finite) {
      loop.summary.termination = Termination::failure;
      return true;
    }
  }
  if (reason == Termination::converged && system.passes_are_cheap()) polish(loop);
  if (reason == Termination::converged) settle_on_bounds(loop);
  recheck_here(loop, kRowsOfCertificate, loop.rounding.end);
  loop.rounding.end.underflow = loop.rounding.end.underflow && system.squares_underflow();
  const RoundingSizes& rounding = loop.rounding;
  const SolverOptions& options = *loop.options;
  CertificateTests tests{options.tau, options.xtol, options.gtol, rounding.magnitude};
  tests.initial_cost = loop.summary.initial_cost;
  tests.column_magnitude = rounding.column_magnitude;
  tests.underflow = rounding.end.underflow;
  tests.room = system.room(loop.point.x);
  tests.stopped = !loop.ending.stopped_by.empty();
  tests.unfinished =
      loop.log.steps > 0 && reason != Termination::converged && reason != Termination::no_progress;
  tests.no_progress = loop.log.steps == 0 || !loop.damping.last_accepted || loop.ending.stalled ||
                      loop.ending.failed_certificates > 0 || reason == Termination::no_progress;
  system.certify(loop.point.x, tests, loop.certified);
  loop.summary.termination = reason;
  if (loop.certified.first_order || reason != Termination::converged) {
    if (loop.certified.first_order) loop.summary.termination = Termination::converged;
    return true;
  }
  return ends_without_certificate(loop);
}

// A damped step by conjugate gradients may be short only because the iteration was cut short. So it is solved
// for again, tightly.
bool reached_by_damped_step(Loop& loop) {
  System& system = *loop.system;
  const auto flat = [&] {
    const bool small = loop.step.nu <= loop.options->tau * loop.sigma() ||
                       system.gradient_cosine(loop.point.x) <= loop.options->gtol ||
                       system.gradient_is_noise(loop.point.x, loop.rounding.last());
    return small && loop.lambda() <= 1e-4 && loop.step.scaled_norm <= loop.options->xtol * loop.scaled_size();
  };
  if (!flat()) return false;
  system.set_solve_accuracy(0);
  system.solve(loop.lambda(), loop.step);
  return flat();
}

}  // namespace

// True if a first-order test seems to hold or no step is left. The certificate then decides.
bool reached(Loop& loop) {
  if (loop.low_rows()) return false;
  System& system = *loop.system;
  const SolverOptions& options = *loop.options;
  const FirstOrder& first = loop.point.first;
  if (loop.ending.stalled || !loop.ending.stopped_by.empty()) return true;
  if (loop.ending.held_off || (system.residuals_stay_f64() && loop.low_gram())) return false;
  const double left = first.usable ? first.decrement_sigma : loop.step.nu / loop.sigma();
  if (system.residuals_vanish(loop.summary.initial_cost, left, !loop.damping.last_accepted)) return true;
  if (zero_residual(loop.cost(), loop.summary.initial_cost, loop.rounding.magnitude)) return true;
  if (system.solves_iteratively()) return reached_by_damped_step(loop);
  const bool known = first_order_known(loop);
  // The cost is within rounding. With nearly dependent columns x may still be far from the optimum unless ν₀
  // is rounding, too. The rounding bounds are worst cases, so steps go on while they help, until few standard
  // errors are left, or until several in a row have not helped.
  const double magnitude = loop.rounding.magnitude;
  constexpr int kRepeatedly = 4;  // steps
  const bool few_left = !loop.damping.last_accepted && first.decrement_sigma <= kNearInNoise;
  const bool rejected_repeatedly = loop.digits.rejected_in_a_row >= kRepeatedly;
  const bool in_noise = first.decrement <= decrement_noise(loop.cost(), magnitude) &&
                        (residuals_are_rounding(loop.cost(), magnitude) || few_left || rejected_repeatedly);
  const bool close = first.decrement_sigma <= options.tau || in_noise;
  if ((known ? close : !system.residuals_stay_f64()) &&
      system.gradient_is_noise(loop.point.x, loop.rounding.last())) {
    return true;
  }
  const double cosine = system.gradient_cosine(loop.point.x);
  if (known) {
    static const double usual_gtol = SolverOptions().gtol;
    const bool near = first.decrement_sigma <= options.tau;
    const bool flat = is_flat(cosine, options.gtol, first.decrement_sigma);
    if (first.step_size > std::max(options.xtol, step_noise(first.condition, system.parameters())))
      return false;
    // A gtol that the user chose ends the fit further away, too, but without a certificate.
    if (!near && !flat && cosine <= options.gtol && options.gtol > usual_gtol) {
      loop.ending.stopped_by = "the cosine of the gradient fell below gtol in f64";
      return true;
    }
    return near || flat;
  }
  // κ₀ is too large for the normal equations, and only a QR pass can decide. Ask for it once the damped
  // problem is solved.
  return cosine <= options.gtol || loop.step.nu <= 1e-3 * options.tau * loop.sigma();
}

// Where rounding keeps the steps longer than xtol, the test of their length fails for good. Without this rule
// such steps would go on until the iteration limit. Each failed certificate doubles the number of steps
// that may pass without progress. A fall of the cost is progress if it is more than a small share of it,
// and more than its rounding error is likely to be. The bound of that error is for roundings that all go one
// way; they hardly ever do.
bool stagnates(Loop& loop) {
  constexpr double kVisible = 1e-10;
  const FirstOrder& first = loop.point.first;
  Stagnation& past = loop.ending.stagnation;
  if (loop.low_rows() || loop.low_gram() || !first_order_known(loop)) return false;
  const bool nearer = first.decrement <= 0.5 * past.decrement;
  if (nearer) past.decrement = first.decrement;
  const double likely = loop.noise() / std::sqrt(static_cast<double>(loop.system->residuals()));
  if (nearer || loop.cost() < past.cost - std::max(kVisible * loop.cost(), likely)) {
    past.cost = loop.cost();
    past.iterations = 0;
  }
  const bool near = first.decrement_sigma <= kNearInNoise ||
                    first.decrement <= decrement_noise(loop.cost(), loop.rounding.magnitude);
  if (!near || ++past.iterations < past.patience) return false;
  past.iterations = 0;
  past.patience *= 2;
  return true;
}

void recheck_here(Loop& loop, std::size_t rows, Recheck& out) {
  RoundingSizes& rounding = loop.rounding;
  System& system = *loop.system;
  system.recheck(loop.point.x, loop.options->strict ? system.residuals() : rows, out);
  rounding.magnitude = out.magnitude;
  rounding.cost_magnitude = out.cost_magnitude > 0 ? out.cost_magnitude : out.magnitude;
  rounding.column_magnitude = out.column_magnitude;
}

bool observe(Loop& loop) {
  StepObserver& observer = *loop.observer;
  std::string met = observer.test_point(loop.point.x);
  if (!met.empty() && loop.low_gram()) {
    escalate(loop, {{Format::f64, Gram::f64}, Event::finishing}, std::move(met));
    return true;
  }
  if (observer.report(loop.point.x, loop.cost(), loop.lambda()) == CallbackResult::stop)
    loop.ending.stop_asked = true;
  if (!met.empty()) loop.ending.stopped_by = std::move(met);
  return false;
}

bool conclude(Loop& loop, Termination reason) {
  const auto begin = Loop::Clock::now();
  const bool concluded = certify_here(loop, reason);
  loop.log.time.certify += Loop::seconds_since(begin);
  return concluded;
}

}  // namespace nlsq::inline v0
