// The f64 verdict on the end of a block problem: first order, rank, and the user's own code beside the programs.
#include "block_minimizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

namespace {

// Damping of the step that is judged: as little as lets the matrix be factored, since what the data do not
// determine (a gauge freedom) leaves it singular without.
constexpr double kLeast = 1e-14, kMost = 1e-6;
constexpr double kZeroCost = 1e-30;  // of the initial cost: nothing but rounding is left

}  // namespace

// Of the residuals at x from those that the functions give themselves.
double BlockMinimizer::compare() {
  const double difference = model_.recheck(x_, r_, trial_r_);
  Certificate& c = summary_.certificate;
  c.rechecked_rows += r_.size();
  c.recheck_discrepancy = std::max(c.recheck_discrepancy, difference);
  return difference;
}

bool BlockMinimizer::repeats(double difference) const {
  return BlockModel::repeats(difference, r_, known_ ? model_.scaled_size(x_, scale_) : 0);
}

bool BlockMinimizer::rechecked() { return repeats(compare()); }

// Called with J, gradient and column norms in f64 at x.
void BlockMinimizer::certify() {
  Certificate& c = summary_.certificate;
  const bool may_pass = summary_.termination == Termination::converged || summary_.termination == Termination::no_progress ||
                        summary_.termination == Termination::tolerance;
  c.cost = cost_;
  c.condition = std::numeric_limits<double>::quiet_NaN();  // of so large a matrix: not examined
  c.gradient_norm = cosine();
  c.gradient_bound = cosine_bound();
  c.decrement_sigma = c.step = std::numeric_limits<double>::quiet_NaN();
  c.recheck_passed = rechecked();
  if (!c.recheck_passed) return;
  const bool zero = cost_ <= kZeroCost * summary_.initial_cost;
  if (!may_pass && !zero) return;  // the budget ran out: nothing to claim, and no time for it
  double lambda = kLeast;
  aim_tightly();
  for (; lambda <= kMost; lambda *= 10) {
    solver_.solve<double, double>(model_.records<double>(), lambda, scale_, step_);
    summary_.linear_iterations += step_.iterations;
    if (step_.factored) break;
  }
  if (!step_.factored && !zero) return;
  if (step_.factored && !step_.reached && !zero) return cut_short();
  if (step_.factored) {
    c.decrement_sigma = sigma() > 0 ? step_.decrement / sigma() : std::numeric_limits<double>::quiet_NaN();
    c.step = step_.scaled_norm / model_.scaled_size(x_, scale_);
  }
  // The cost cannot show any more what the step promises: x is as near as f64 tells.
  const bool rounding = step_.factored && step_.predicted <= noise();
  const bool still = c.gradient_norm <= options_.gtol, bounded = c.gradient_norm <= c.gradient_bound;
  const bool flat = step_.decrement <= options_.tau * sigma() || still || bounded || rounding;
  if (!zero && !(flat && (c.step <= options_.xtol || rounding))) return;
  c.passed = true;
  const char* const first = step_.decrement <= options_.tau * sigma() ? "decrement+xtol" : still ? "gtol+xtol" : "gradient bound";
  c.governed_by = zero ? "zero residual" : c.step <= options_.xtol ? first : "cost rounding";
  c.rank = solver_.rank(model_.records<double>(), scale_);
  const bool full = c.rank == static_cast<int>(free_size());
  c.verdict = full ? zero ? Verdict::noise_floor : Verdict::converged : Verdict::rank_deficient;
  if (c.rank < 0) {
    c.verdict = Verdict::tolerance;
    c.governed_by += ", rank not examined";
  }
  summary_.termination = Termination::converged;
}

// The step that decides is not known well enough: what was seen with damping holds, and nothing more.
void BlockMinimizer::cut_short() {
  Certificate& c = summary_.certificate;
  c.decrement_sigma = sigma() > 0 ? step_.decrement / sigma() : std::numeric_limits<double>::quiet_NaN();
  c.step = step_.scaled_norm / model_.scaled_size(x_, scale_);
  if (summary_.termination == Termination::converged) {
    summary_.termination = Termination::tolerance;
    stopped_by_ = "the damped step met the tests of first order in f64";
  }
  cut_short_ = fmt::format("; conjugate gradients for the undamped step ended after {} iterations without their goal", step_.iterations);
}

// Verdict and message of the end.
void BlockMinimizer::finish() {
  Certificate& c = summary_.certificate;
  // The damped step met the tests of first order, and the undamped one does not: no success, whatever ended the solve.
  const bool refuted = summary_.termination == Termination::converged && !c.passed;
  if (refuted) summary_.termination = Termination::no_progress;
  if (!c.passed) {
    c.governed_by = name(summary_.termination);
    c.verdict = summary_.termination == Termination::failure || !c.recheck_passed ? Verdict::failed
                : summary_.termination == Termination::tolerance                   ? Verdict::tolerance
                                                                                   : Verdict::budget;
  }
  summary_.verdict = c.verdict;
  summary_.final_cost = cost_;
  switch (summary_.termination) {
    case Termination::failure:
      summary_.message = "the residuals or their derivatives are not finite at the start; the parameters are unchanged";
      break;
    case Termination::converged:
      summary_.message = fmt::format("{} by {}; the parameters are the optimum found", name(c.verdict), c.governed_by);
      break;
    case Termination::tolerance:
      summary_.message = fmt::format("{}; first order is not certified: {:.1e} standard errors "
                                     "from the optimum by the linear model; the parameters are the best point",
                                     stopped_by_.empty() ? "the cost's decrease fell below ftol in f64" : stopped_by_, c.decrement_sigma);
      break;
    default:
      summary_.message = fmt::format("{}: first order is not certified; the parameters are the best point", name(summary_.termination));
      if (refuted && c.recheck_passed) {
        summary_.message += fmt::format("; without damping the step is {:.1e} of the parameters and {:.1e} standard errors", c.step, c.decrement_sigma);
      }
  }
  if (c.passed && c.verdict == Verdict::rank_deficient) {
    summary_.message += fmt::format("; the data determine {} of {} directions", c.rank, free_size());
  }
  summary_.message += cut_short_;
  if (!c.recheck_passed && summary_.termination != Termination::failure) {
    summary_.message = "the residual functions do not repeat: called again they give other residuals than during the solve; " + summary_.message;
  }
  if (held_count_ > 0) summary_.message += fmt::format("; {} numbers are at their bounds", held_count_);
  summary_.time.total = seconds_since(begin_);
  summary_.precision.counters = model_.counters();
  summary_.precision.components = model_.components();
  if (control_ && control_->facts) {
    facts_.eliminated_blocks = structure_.real_points;
    facts_.other_blocks = structure_.camera_parameter.size();
    facts_.dense = solver_.dense();
    facts_.iterative = solver_.iterative();
    facts_.linear_iterations = summary_.linear_iterations;
    facts_.groups_followed = structure_.groups_followed;
    *control_->facts = facts_;
  }
  summary_.threads = std::max(model_.threads(), solver_.threads());
  summary_.peak_bytes = structure_.bytes() + model_.bytes() + solver_.bytes();
}

}  // namespace nlsq::inline v0
