// The end of a fit of many parameters. A gradient in f64 costs a small part of a pass with its Gram matrix,
// and the gradient alone says where the end is: so from the last point below f64 on steps are made with the
// Gram matrix of that point and gradients in f64, and only where they lead to is a Gram matrix of f64 formed,
// which the certificate needs. The matrix kept is a modified Newton method's: each step leaves a share of the
// distance that its error, and the model's curvature, make (Kelley, Iterative Methods for Linear and
// Nonlinear Equations, section 5.4).
#include "minimizer/loop.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kGradientShare = 0.25;  // of a pass that a gradient may cost
constexpr double kMostGradients = 0.5;   // of a pass that all of them together may
constexpr double kSlow = 0.5;            // of the distance: a step that leaves more ends this
constexpr double kMargin = 4;            // what a step may leave more than the one before did

// The step by the matrix kept and the last gradient, as step and trial. Its relative size.
double propose_with_gram_kept(Loop& loop) {
  loop.system->solve_with_gram_kept(loop.scale, loop.step);
  loop.trial.x.resize(loop.point.x.size());
  for (std::size_t j = 0; j < loop.point.x.size(); ++j) loop.trial.x[j] = loop.point.x[j] + loop.step.step[j];
  return loop.step.scaled_norm / loop.scaled_size();
}

}  // namespace

// The parameters are so many that products are what a pass costs.
bool gradients_are_cheap(const Loop& loop) {
  return loop.system->gradient_work() <= kGradientShare * loop.system->pass_work({Format::f64, Gram::f64});
}

bool gram_worth_keeping(const Loop& loop) {
  return undamped(loop) && !loop.system->bounded() && loop.step.factored && gradients_are_cheap(loop);
}

// Takes the finishing step and those after it, until a pass in `plan` is due at x or has been made there.
// False: the first did not help, and nothing is changed.
bool finish_with_gram_kept(Loop& loop, const PrecisionPlan& plan) {
  System& system = *loop.system;
  const double most = kMostGradients * system.pass_work({Format::f64, Gram::f64}) / system.gradient_work();
  const int kept_from = loop.log.next;
  propose(loop, true);
  double before = system.gradient_left(loop.step) + loop.health.gradient_noise;
  std::string reason =
      fmt::format("{:.1e} standard errors from the optimum", loop.point.first.decrement_sigma);
  loop.trial.gain = kNaN;
  bool moved = false, linearized = false;
  for (int made = 0; !linearized;) {
    const std::optional<PointModel> there = system.gradient_trial(loop.trial.x);
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
    // This step is the last: what the certificate needs is formed at its end.
    const bool finite = system.linearize_trial(loop.trial.x, plan).finite;
    if (!finite || !(system.trial_gradient_norm() < before)) break;
    record(loop, StepOutcome::accepted, Event::none, std::move(reason));
    linearized = true;
  }
  if (!moved) return false;
  ++loop.log.escalations;
  loop.digits.plan = plan;
  if (!linearized) loop.trial.x = loop.point.x;
  move_to_trial(loop, false);
  if (linearized) {
    system.accept_trial();
  } else {
    system.drop_trial();
    system.forget();
  }
  loop.damping.streak = loop.lambda();
  loop.damping.last_accepted = true;
  return true;
}

}  // namespace nlsq::inline v0
