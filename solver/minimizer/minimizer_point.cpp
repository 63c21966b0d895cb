// Moves the point x, and computes what is derived from it.
#include "minimizer/loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

// Moves x to the trial point, and resets what the loop keeps about the old one: whether x is prepared, its
// f64 cost, and how x was reached.
void move_to_trial(Loop& loop, bool by_undamped_step) {
  Point& point = loop.point;
  point.last_decrement = by_undamped_step ? point.undamped_step.decrement : 0;
  point.last_step_size = point.undamped_step.step_size;
  point.last_distance = undamped_step_known(loop) ? point.undamped_step.decrement_sigma : 0;
  point.x.swap(loop.trial.x);
  point.prepared = false;
  point.cost_f64.reset();
}

void take_trial(Loop& loop, bool by_undamped_step) {
  move_to_trial(loop, by_undamped_step);
  loop.system->accept_trial();
}

void end_rejections(Damping& damping) {
  damping.lambda_before_rejections = damping.trust.lambda();
  damping.last_accepted = true;
}

void roll_back(Loop& loop) {
  System& system = *loop.system;
  Damping& damping = loop.damping;
  loop.digits.wasted_work = std::max(loop.digits.wasted_work, system.counted_work() - loop.checkpoint.work);
  record(loop, StepOutcome::escalated, Event::rollback,
         fmt::format("cost {:.9g} is above the checkpoint's", loop.cost()));
  loop.nonmonotonic.end();
  loop.trial.x = loop.checkpoint.x;
  move_to_trial(loop, false);
  loop.digits.plan = kF64Plan;
  damping.trust.restore(damping.trust.by_radius() ? TrustRegion::kMin : loop.options->initial_lambda);
  damping.trust.forgive();
  system.linearize(loop.point.x, loop.digits.plan);
}

// Linearizes x in the plan in force and derives everything that steps need.
void prepare_point(Loop& loop) {
  System& system = *loop.system;
  Point& point = loop.point;
  if (system.known() && point.prepared) return;
  if (!system.known()) system.linearize(point.x, loop.digits.plan);
  Vector& norms = loop.trial.x;  // scratch memory until there is a trial point
  system.column_norms(norms);
  rules::remember_scale(norms, loop.scale);
  system.prepare(point.x, loop.scale);
  system.solve_undamped(point.x, loop.lambda(), loop.damping.trusted_distance, point.undamped_step);
  point.prepared = true;
  for (PrecisionNote& note : system.take_notes()) {
    record(loop, StepOutcome::escalated, note.event, std::move(note.reason), std::move(note.components));
    ++loop.log.escalations;
  }
  if (!loop.low_rows()) point.cost_f64 = system.at().cost;
  else if (std::isinf(loop.checkpoint.noise) && point.x == loop.checkpoint.x)
    loop.checkpoint.noise = system.probed_cost_noise();
}

bool undamped_step_known(const Loop& loop) {
  const UndampedStep& s0 = loop.point.undamped_step;
  return s0.usable && (s0.condition <= rules::kNormalCondition || loop.system->by_qr());
}

bool near_optimum(const Loop& loop) {
  const UndampedStep& s0 = loop.point.undamped_step;
  return undamped_step_known(loop) && rules::near_optimum(s0.decrement * s0.decrement, s0.decrement_sigma,
                                                          loop.cost(), loop.damping.trusted_distance);
}

// If each step leaves a smaller share of the distance than the one before, the next step leaves at most the
// share of the last one. So the optimum may be one step away although x is too far away for near_optimum().
bool next_is_near(const Loop& loop) {
  constexpr double kFurthest = 10, kLeft = 0.1;  // standard errors: from x, and expected from the next point
  const UndampedStep& s0 = loop.point.undamped_step;
  const double distance = s0.decrement_sigma, before = loop.point.last_distance;
  return undamped_step_known(loop) && loop.damping.last_accepted && distance * distance <= kLeft * before &&
         rules::near_optimum(s0.decrement * s0.decrement, distance, loop.cost(), kFurthest);
}

// Near the optimum damping only slows convergence: it leaves the share λ/(λ + eigenvalue) of the distance.
// After an undamped step has failed, the next one is damped, and more of them if such steps keep failing.
bool undamped(const Loop& loop) {
  return near_optimum(loop) && loop.damping.last_accepted && loop.damping.undamped_waits == 0;
}

bool hardly_damped(const Loop& loop) {
  const double condition = loop.point.undamped_step.condition;
  return undamped(loop) || (undamped_step_known(loop) && loop.lambda() * condition * condition < 0.01);
}

void note_undamped(Damping& damping, bool helped) {
  constexpr int kMostFailures = 4;
  damping.undamped_failures = helped ? 0 : std::min(damping.undamped_failures + 1, kMostFailures);
  damping.undamped_waits = helped ? 0 : (1 << (damping.undamped_failures - 1)) - 1;
}

}  // namespace nlsq::inline v0
