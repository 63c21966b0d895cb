// Steps by second derivatives of the cost, for few unknowns where Gauss-Newton is slow, because the residuals
// stay large or J is singular at the minimum.
#include "minimizer/loop.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace nlsq::inline v0 {

namespace {

constexpr double kGoodModel = 0.9;  // above this gain ratio the JᵀJ model predicts well
constexpr int kHalvings = 8;

// Trials begin when a fit counts as hard. After a trial that helps, the next one follows at once.
bool worth_trying(const Loop& loop) {
  return loop.system->has_second_order() && loop.ending.stopped_by.empty() &&
         loop.log.accepted >= loop.damping.second_order_at &&
         loop.digits.last_decrease < rules::kFastDecrease && std::fabs(loop.trial.gain - 1) > 1 - kGoodModel;
}

}  // namespace

bool step_by_second_order(Loop& loop) {
  if (!worth_trying(loop)) return false;
  System& system = *loop.system;
  Damping& damping = loop.damping;
  damping.second_order_at = loop.log.accepted + damping.second_order_period;
  damping.second_order_period *= 2;
  // The expected gain of the damped step that was just computed, if its gain ratio is that of the last one.
  const double damped = std::max(loop.trial.gain, 0.0) * loop.step.predicted;
  const double cost = loop.cost();
  Step step;
  loop.point.prepared = false;  // the system has evaluated other points
  if (!system.second_order_step(step)) return true;
  double promised = step.predicted;
  for (int k = 0; k < kHalvings; ++k) {
    const bool cut = system.plus(loop.point.x, step, loop.trial.x, true);
    const double decrease = cost - system.cost(loop.trial.x, Format::f64);
    const bool falls =
        decrease > loop.noise() && decrease >= (cut ? 0.0 : 0.1 * promised) && decrease > damped;
    if (falls && system.linearize_trial(loop.trial.x, loop.digits.plan).finite) {
      loop.trial.gain = decrease / promised;
      loop.trial.decrease = decrease;
      loop.trial.cost = cost - decrease;
      loop.step = step;
      loop.step.predicted = promised;
      std::string met = tell_observer(loop, StepOutcome::accepted);
      if (!met.empty()) loop.ending.stopped_by = std::move(met);
      record(loop, StepOutcome::accepted, Event::none, "second derivatives of the cost");
      loop.digits.last_decrease = decrease / cost;
      take_trial(loop, false);
      end_rejections(damping);
      loop.ending.held_off = false;
      damping.second_order_at = loop.log.accepted;
      damping.second_order_period = Damping::kSecondOrderPeriod;
      return true;
    }
    if (falls) system.drop_trial();
    for (double& s : step.step) s *= 0.5;
    promised *= 0.75;
  }
  return true;
}

}  // namespace nlsq::inline v0
