// Runs the Levenberg-Marquardt loop itself: the start, the iterations and the warm-up.
#include "minimizer/minimizer.hpp"
#include "support/constants.hpp"

#include "ablation.hpp"

namespace nlsq::inline v0 {

namespace {

// Returns true after a quarter of all iterations in two cases: rows are still in f32, or 16-bit formats could
// not decide on variable projection. In the second case f64 might have eliminated linear parameters and taken
// another path. The remaining iterations then go to an attempt in f64 from the start.
bool lost_below_f64(const Loop& loop) {
  if (!rule_active(Rule::iterations_below_f64_are_limited)) return false;
  constexpr int kFewest = 100;
  const int limit = std::max(kFewest, loop.options->max_iterations / 4);
  return (loop.low_rows() || loop.system->elimination_needs_f64()) && loop.log.next - loop.log.first >= limit;
}

// Returns true if the loop has stagnated and should end without a certificate. That is so where rounding,
// jumps or a kink limit the fit. Where the user's code is called, the third failed certificate is enough.
bool no_more_to_gain(const Loop& loop) {
  constexpr int kMostPatience = 32;  // iterations
  const Stagnation& past = loop.ending.stagnation;
  return limited_by_rounding(loop) || limited_by_jumps(loop) || past.at_kink() ||
         (loop.request->by_calls && past.patience > kMostPatience);
}

// Resets all members, and keeps the memory of the list.
void clear(Recheck& recheck) {
  Vector memory = std::move(recheck.column_magnitude);
  memory.clear();
  recheck = {};
  recheck.column_magnitude = std::move(memory);
}

// Resets every value that could be read before it is written. Memory is kept.
void reset(Loop& loop, System& system, const MinimizerRequest& request) {
  const SolverOptions& options = request.options;
  const bool damped = options.algorithm == Algorithm::levenberg_marquardt ||
                      (system.residuals_stay_f64() && options.algorithm != Algorithm::gauss_newton);
  loop.system = &system;
  loop.options = &options;
  loop.request.emplace(request);
  loop.ran_off = false;
  loop.policy = options.policy();
  loop.point.prepared = loop.point.undamped_step.usable = false;
  loop.point.undamped_step.held.clear();
  loop.point.cost_f64.reset();
  loop.point.last_decrement = loop.point.last_step_size = loop.point.last_distance = 0;
  loop.scale.clear();
  loop.step.factored = false;
  loop.step.held.clear();
  loop.trial.x.clear();
  loop.trial.gain = loop.trial.decrease = 0;
  loop.damping = {};
  loop.damping.trust = TrustRegion(damped ? options.initial_lambda : TrustRegion::kMin);
  loop.damping.lambda_before_rejections = loop.lambda();
  if (request.trusted_start) loop.damping.trusted_distance = 30;
  loop.digits = {};
  loop.checkpoint.work = 0;
  loop.checkpoint.unverified_steps = 0;
  clear(loop.rounding.start);
  clear(loop.rounding.end);
  loop.rounding.magnitude = loop.rounding.cost_magnitude = 0;
  loop.rounding.column_magnitude.clear();
  loop.nonmonotonic = Nonmonotonic(options.nonmonotonic_steps);
  loop.ending = {};
  loop.ending.stop_asked = request.stop_asked;
  IterationLog& log = loop.log;
  log.iterations.swap(loop.summary.iterations);  // reuses the memory of the last solve's trace
  log.iterations.clear();
  log.issues.clear();
  log.first = log.next = request.first_iteration;
  log.steps = request.steps_before;
  log.accepted = log.rejected = log.escalations = 0;
  log.counted = request.counted.value_or(system.counters());
  log.time = {};
  loop.summary = {};
  loop.certified.first_order = false;
  loop.certified.certificate = {};
  loop.certified.covariance.assign(0, 0);
}

}  // namespace

// Resets the loop, chooses the precision of the first pass and makes it. Returns
// false if the residuals at the start are not finite.
bool Minimizer::start(System& system, const MinimizerRequest& request) {
  reset(loop_, system, request);
  Vector& x = loop_.point.x;
  x.assign(request.x0.begin(), request.x0.end());
  PrecisionPlan& plan = loop_.digits.plan;
  plan = system.first_plan(loop_.policy);
  // A system may already have linearized x, in a plan of its own choice. Otherwise x is linearized in the
  // first plan, and again in f64 if that gives numbers that are not finite.
  if (system.known()) plan = system.at().plan;
  else system.linearize(x, plan);
  if (!system.at().finite && (loop_.low_rows() || (system.residuals_stay_f64() && plan.gram < Gram::f64))) {
    plan = kF64Plan;
    system.linearize(x, plan);
  }
  if (!system.at().finite) return false;
  loop_.summary.initial_cost = system.at().cost;
  loop_.checkpoint.x = x;
  loop_.checkpoint.cost = system.at().cost;
  loop_.checkpoint.noise = loop_.low_rows() ? kInfinity : 0;
  return true;
}

void Minimizer::run(System& system, const MinimizerRequest& request, MinimizerResult& out) {
  if (start(system, request)) {
    recheck_here(loop_, kRowsAtStart, loop_.rounding.start);
    iterate();
  } else {
    loop_.summary.initial_cost = kNaN;  // the residuals at the start have none
  }
  fill_result(loop_, out);
}

void Minimizer::iterate() {
  Loop& loop = loop_;
  for (;;) {
    // The loop rolled back to a start that is finite in f32 but not in f64.
    if (loop.system->known() && !loop.system->at().finite) {
      loop.summary.termination = Termination::failure;
      return;
    }
    if (!loop.request->observer) {
      if (const auto spent = budget_spent(loop)) return (void)conclude(loop, *spent);
    }
    if (lost_below_f64(loop)) return (void)conclude(loop, Termination::no_progress);
    prepare_point(loop);
    if (loop.request->observer) {
      if (observe(loop)) continue;
      if (const auto spent = budget_spent(loop)) return (void)conclude(loop, *spent);
    }
    solve_step(loop);
    assess(loop);
    if (change_precision(loop)) continue;
    const bool done = test_for_end(loop), no_progress = !done && test_for_stagnation(loop);
    if (!done && test_for_slow_descent(loop)) {
      if (!loop.ran_off && continue_extrapolated(loop)) continue;
      return (void)conclude(loop, Termination::no_progress);
    }
    if (done || no_progress || take_last_step(loop)) {
      if (conclude(loop, Termination::converged)) return;
      if (no_progress && no_more_to_gain(loop)) return (void)conclude(loop, Termination::no_progress);
      continue;
    }
    if (step_by_second_order(loop)) continue;
    propose(loop);
    judge(loop);
    accept_or_reject(loop);
  }
}

bool Minimizer::warm_up(System& system, const MinimizerRequest& request, double near) {
  constexpr int kMostSteps = 50;
  Loop& loop = loop_;
  if (!start(system, request)) return false;
  while (loop.log.next - loop.log.first < kMostSteps && !loop.ending.stalled && !budget_spent(loop)) {
    if (system.known() && !system.at().finite) return false;
    prepare_point(loop);
    const UndampedStep& here = loop.point.undamped_step;
    if (!here.usable || here.condition > rules::kNormalCondition) return false;
    if (here.decrement_sigma <= near) return true;
    solve_step(loop);
    assess(loop);
    if (change_precision(loop)) continue;
    propose(loop);
    judge(loop);
    accept_or_reject(loop);
  }
  return false;
}

WarmStart Minimizer::warm_result() {
  collect_issues(loop_);
  const std::span<const int> eliminated = loop_.system->eliminated();
  return {loop_.point.x,
          std::move(loop_.log.iterations),
          budget_spent(loop_),
          std::move(loop_.log.issues),
          {eliminated.begin(), eliminated.end()}};
}

}  // namespace nlsq::inline v0
