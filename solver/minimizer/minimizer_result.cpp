// Forms the result of a solve: the point, the verdict and the summary.
#include "minimizer/loop.hpp"

#include "certificate/certificate.hpp"

#include <algorithm>
#include <utility>

namespace nlsq::inline v0 {

// Returns true if f64 residuals have too few digits: the gradient and the remaining decrease are within
// rounding errors, but the distance is too large for a certificate.
bool limited_by_rounding(const Loop& loop) {
  System& system = *loop.system;
  const Certificate& c = loop.certified.certificate;
  if (loop.certified.first_order || !system.known() || system.residuals_stay_f64() ||
      !(c.decrement_sigma > 0))
    return false;
  return c.decrement_sigma * loop.sigma() <= decrement_noise(loop.cost(), loop.rounding.magnitude) &&
         system.gradient_is_noise(loop.point.x, loop.rounding.last());
}

bool limited_by_jumps(const Loop& loop) {
  constexpr double kSmooth = 1e-4;  // of a standard error
  return !loop.certified.first_order && loop.system->known() &&
         loop.system->error_by_differences(loop.certified.certificate) > kSmooth;
}

void fill_result(Loop& loop, MinimizerResult& out) {
  const bool limited = loop.summary.termination == Termination::no_progress && limited_by_rounding(loop);
  System& system = *loop.system;
  Summary& summary = loop.summary;
  RoundingSizes& rounding = loop.rounding;
  collect_issues(loop);
  Certificate& c = loop.certified.certificate;
  c.rechecked_rows = rounding.start.rows + rounding.end.rows;
  c.recheck_discrepancy = std::max(rounding.start.largest, rounding.end.largest);
  // A discrepancy counts if it is large beside the terms of r and could move a parameter by τ standard
  // errors.
  const auto agrees = [&](const Recheck& r, double cost) {
    return system.recheck_agrees(r, loop.options->tau * system.scatter_at(cost));
  };
  const bool started = summary.termination != Termination::failure;
  c.recheck_passed = started && agrees(rounding.start, summary.initial_cost) && agrees(rounding.end, c.cost);
  const Recheck& doubt = rounding.end.contradicted() ? rounding.end : rounding.start;
  c.wrong_column = doubt.wrong_column;
  c.wrong_loss = doubt.wrong_loss;
  c.jacobian_difference = doubt.jacobian_difference;
  c.recheck_passed = c.recheck_passed && !doubt.contradicted();
  if (!c.recheck_passed) c.passed = false;
  if (started && !loop.certified.first_order) {
    c.verdict = summary.termination == Termination::tolerance ? Verdict::tolerance : Verdict::budget;
    c.governed_by = name(summary.termination);
  }
  if (!started || !c.recheck_passed) c.verdict = Verdict::failed;
  if (!started)  // nothing was measured
    c.cost = c.gradient_norm = c.gradient_bound = c.decrement_sigma = c.step = c.condition = kNaN;
  summary.verdict = c.verdict;
  summary.final_cost = started ? c.cost : summary.initial_cost;
  summary.certificate = c;
  summary.eliminated.assign(system.eliminated().begin(), system.eliminated().end());
  summary.accepted = loop.log.accepted;
  summary.rejected = loop.log.rejected;
  summary.precision.escalations = loop.log.escalations;
  summary.time = loop.log.time;
  summary.iterations.swap(loop.log.iterations);
  summary.precision.issues.swap(loop.log.issues);
  out.x = loop.point.x;
  out.spent = budget_spent(loop);
  out.repeats = rounding.start.repeats && rounding.end.repeats;
  out.underflow = rounding.end.underflow;
  out.lost_parameters = out.on_saddle = false;
  out.by_twofold = EndByTwofold::unknown;
  out.noisy_column.reset();
  out.maybe_at_kink = loop.request->stops_at_kinks && loop.ending.stagnation.at_kink();
  out.limited_by_rounding = limited;
  out.ran_off = loop.ran_off && !loop.certified.first_order;
  out.stopped_by = loop.ending.stopped_by;
  out.tolerance_met = !loop.ending.stopped_by.empty() && !loop.ending.cut_short;
  out.cost_noise = system.known() && system.at().finite ? loop.noise() : 0;
  std::swap(out.covariance, loop.certified.covariance);
  std::swap(out.summary, summary);
}

}  // namespace nlsq::inline v0
