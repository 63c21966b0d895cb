// Takes the last steps of a fit with many parameters, where an f64 gradient costs a small part of a pass that
// also forms the Gram matrix. The gradient alone defines the optimum. So from the last point below f64 on,
// steps combine that point's Gram matrix with f64 gradients. An f64 Gram matrix, which the certificate needs,
// is formed only at the final point. This is a modified Newton method: each step leaves a share of the
// distance that grows with the error of the matrix and the curvature of the model (Kelley, Iterative Methods
// for Linear and Nonlinear Equations, section 5.4).
#include "minimizer/loop.hpp"
#include "support/constants.hpp"

#include <fmt/format.h>

namespace nlsq::inline v0 {

namespace {

constexpr double kGradientShare = 0.25;  // share of a pass that one gradient may cost
constexpr double kMostGradients = 0.5;   // share of a pass that all of them together may cost
constexpr double kSlow = 0.5;            // these steps end if one leaves a larger share of the distance
constexpr double kMargin = 4;            // a step may leave this many times the share that the last one left

// Sets the step and the trial point from the kept matrix and the last gradient. Returns ‖D step‖ / ‖D x‖.
double propose_with_gram_kept(Loop& loop) {
  loop.system->solve_with_gram_kept(loop.scale, loop.step);
  loop.trial.x.resize(loop.point.x.size());
  for (std::size_t j = 0; j < loop.point.x.size(); ++j) loop.trial.x[j] = loop.point.x[j] + loop.step.step[j];
  return loop.step.scaled_norm / loop.scaled_size();
}

}  // namespace

// With many parameters, the Gram product takes most of the time of a pass.
bool gradients_are_cheap(const Loop& loop) {
  return loop.system->gradient_work() <= kGradientShare * loop.system->pass_work(kF64Plan);
}

bool gram_worth_keeping(const Loop& loop) {
  return undamped(loop) && loop.system->room(loop.point.x).empty() && loop.step.factored &&
         gradients_are_cheap(loop);
}

// Takes the finishing step and further ones, until x has been linearized in `plan` or needs to be. Returns
// false if the first step did not help; then nothing has changed.
bool finish_with_gram_kept(Loop& loop, const PrecisionPlan& plan) {
  System& system = *loop.system;
  const double most = kMostGradients * system.pass_work(kF64Plan) / system.gradient_work();
  const int kept_from = loop.log.next;
  propose(loop, true);
  double before = system.gradient_left(loop.step) + loop.health.gradient_noise;
  std::string reason =
      fmt::format("{:.1e} standard errors from the optimum", loop.point.undamped_step.decrement_sigma);
  loop.trial.gain = kNaN;
  bool moved = false, linearized = false;
  for (int made = 0; !linearized;) {
    const std::optional<PointCost> there = system.gradient_trial(loop.trial.x);
    if (!there) return moved;
    const double after = there->finite ? system.trial_gradient_norm() : kNaN;
    if (!(after < (moved ? kSlow : 1) * before)) break;
    record(loop, StepOutcome::accepted, moved ? Event::none : Event::finishing, std::move(reason));
    loop.point.x = loop.trial.x;
    system.accept_gradient();
    const double share = moved ? after / before : 1;
    before = loop.step.nu = after;
    moved = true;
    const double size = propose_with_gram_kept(loop), sigma = loop.sigma();
    const auto within = [&](double left) {
      return left * size <= loop.options->xtol && left * after <= loop.options->tau * sigma;
    };
    if (within(kMargin) || loop.trial.x == loop.point.x || budget_spent(loop) || ++made >= most) break;
    reason = fmt::format("{:.1e} standard errors from the optimum, by the normal matrix of iteration {}",
                         sigma > 0 ? after / sigma : kNaN, kept_from);
    if (!within(kMargin * share)) continue;
    // This is the last step, so its end gets the full linearization that the certificate needs.
    const bool finite = linearize_end(loop, plan, loop.cost()).finite;
    if (!finite || !(system.trial_gradient_norm() < before)) break;
    record(loop, StepOutcome::accepted, Event::none, std::move(reason));
    linearized = true;
  }
  if (!moved) return false;
  ++loop.log.escalations;
  loop.digits.plan = plan;
  if (linearized) {
    take_trial(loop, false);
  } else {
    loop.trial.x = loop.point.x;
    move_to_trial(loop, false);
    system.drop_trial();
    system.forget();
  }
  end_rejections(loop.damping);
  return true;
}

}  // namespace nlsq::inline v0
