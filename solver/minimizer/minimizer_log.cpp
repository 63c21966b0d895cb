// Writes the trace: one line for each step and each escalation, with its kernel counters and issues.
#include "dense/tile_issues.hpp"
#include "minimizer/loop.hpp"
#include "support/constants.hpp"

#include <algorithm>
#include <utility>

namespace nlsq::inline v0 {

int steps_of(std::span<const IterationSummary> trace) {
  return static_cast<int>(std::ranges::count_if(
      trace, [](const IterationSummary& it) { return it.outcome != StepOutcome::escalated; }));
}

void collect_issues(Loop& loop) {
  for (PrecisionIssue& issue : loop.system->take_issues()) {
    issue.iteration = loop.log.next;
    add_issue(loop.log.issues, issue);
  }
}

void record(Loop& loop, StepOutcome outcome, Event event, std::string reason,
            std::vector<std::string> components) {
  System& system = *loop.system;
  IterationLog& log = loop.log;
  collect_issues(loop);
  IterationSummary it;
  it.iteration = log.next++;
  it.cost = system.at().cost;
  it.gradient_norm = system.gradient_cosine(loop.point.x);
  const double sigma = loop.sigma();
  it.decrement_sigma = sigma > 0 ? loop.step.nu / sigma : kNaN;
  it.step_norm = loop.step.scaled_norm / loop.scaled_size();
  it.lambda = undamped(loop) ? 0 : loop.lambda();
  it.rho = outcome == StepOutcome::escalated ? kNaN : loop.trial.gain;
  it.plan = system.at().plan;
  it.rows = system.residuals();
  it.condition = loop.step.condition > 0 ? loop.step.condition : kNaN;
  it.linear_iterations = outcome == StepOutcome::escalated ? 0 : loop.step.linear_iterations;
  it.counters = system.counters().since(log.counted);
  log.counted = system.counters();
  it.outcome = outcome;
  it.event = event;
  it.reason = std::move(reason);
  it.components = std::move(components);
  if (outcome != StepOutcome::escalated) ++log.steps;
  if (outcome == StepOutcome::accepted) ++log.accepted;
  if (outcome == StepOutcome::rejected || outcome == StepOutcome::invalid) ++log.rejected;
  if (loop.options->callback && loop.options->callback(it) == CallbackResult::stop)
    loop.ending.stop_asked = true;
  log.iterations.push_back(std::move(it));
}

void take_both(const Summary& before, const Summary& later, Summary& kept) {
  const auto joined = [](auto all, const auto& more) {
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  kept.iterations = joined(before.iterations, later.iterations);
  kept.precision.issues = joined(before.precision.issues, later.precision.issues);
  kept.initial_cost = before.initial_cost;
  kept.accepted = before.accepted + later.accepted;
  kept.rejected = before.rejected + later.rejected;
  kept.precision.escalations = before.precision.escalations + later.precision.escalations;
  kept.linear_iterations = before.linear_iterations + later.linear_iterations;
  kept.time.evaluate = before.time.evaluate + later.time.evaluate;
  kept.time.solve = before.time.solve + later.time.solve;
  kept.time.certify = before.time.certify + later.time.certify;
}

std::optional<Termination> budget_spent(const Loop& loop) {
  const SolverOptions& options = *loop.options;
  if (loop.ending.stop_asked) return Termination::user_stop;
  if (loop.log.steps >= options.max_iterations) return Termination::max_iterations;
  if (options.max_seconds > 0 && seconds_since(loop.request->begin) >= options.max_seconds)
    return Termination::time_limit;
  return std::nullopt;
}

}  // namespace nlsq::inline v0
