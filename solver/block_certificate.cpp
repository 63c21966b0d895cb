// The f64 verdict on the end of a block problem: first order, rank, and the user's own code beside the programs.
#include "block_minimizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

namespace {

constexpr double kU = 0x1p-53;
constexpr int kWithinNoise = 5;      // steps that the cost cannot judge
constexpr int kReopened = 5;         // times that the iteration goes on as it was
constexpr double kLessDamping = 1e-3;
constexpr int kHalvings = 8;

}  // namespace

// The residuals at x beside those that the functions give themselves.
bool BlockMinimizer::rechecked() {
  const BlockModel::Recheck found = model_.recheck(x_, r_, trial_r_);
  Certificate& c = summary_.certificate;
  c.rechecked_rows += r_.size();
  c.recheck_discrepancy = std::max(c.recheck_discrepancy, found.largest);
  return found.repeats;
}

BlockPoint BlockMinimizer::point() {
  return {model_, structure_, model_.problem(), solver_, x_, r_, cost_, held_, held_count_};
}

BlockTests BlockMinimizer::tests() const {
  return {options_.tau, options_.xtol, options_.gtol, summary_.initial_cost, start_};
}

// Called with J, gradient and column norms in f64 at x. False: x is not the end, and the iteration can go on.
bool BlockMinimizer::certify(Termination reason) {
  const bool may_pass = reason == Termination::converged || reason == Termination::no_progress || reason == Termination::tolerance;
  Certificate& c = summary_.certificate;
  const std::size_t rows = c.rechecked_rows;
  const double discrepancy = c.recheck_discrepancy;
  aim_tightly();
  BlockJudgement judgement;
  if (may_pass || cost_ <= kU * kU * summary_.initial_cost) {
    judgement = judge_point(point(), tests());
    summary_.linear_iterations += judgement.distance.linear_iterations;
    if (judgement.certificate.passed && contradicted(judgement)) judgement.certificate.passed = false;
    const bool cut = judgement.distance.known && !judgement.distance.reached;  // longer runs would not pay
    const bool open = !cut && (reason == Termination::converged || reason == Termination::no_progress);
    if (!judgement.certificate.passed && open && goes_on(judgement, reason)) return false;
  } else {  // the budget ran out: nothing to claim, and no time for it
    judgement.certificate.cost = cost_;
    judgement.certificate.decrement_sigma = judgement.certificate.step = std::numeric_limits<double>::quiet_NaN();
    judgement.certificate.condition = std::numeric_limits<double>::quiet_NaN();
    judgement.certificate.gradient_norm = cosine();
    judgement.certificate.gradient_bound = cosine_bound();
  }
  if (ended_) return true;
  c = judgement.certificate;
  c.rechecked_rows = rows;
  c.recheck_discrepancy = discrepancy;
  c.recheck_passed = rechecked();
  c.passed = c.passed && c.recheck_passed;
  doubt_ = judgement.doubt;
  if (c.passed) summary_.termination = Termination::converged;
  else if (may_pass && judgement.distance.known && !judgement.distance.reached) cut_short(judgement);
  else if (summary_.termination == Termination::converged) summary_.termination = Termination::no_progress;
  return true;
}

// The cost itself is asked: where it falls along the certificate's own step by more than that allows, x is not the optimum.
bool BlockMinimizer::contradicted(const BlockJudgement& judgement) {
  if (judgement.certificate.governed_by == "zero residual") return false;
  model_.plus(x_, judgement.distance.step, trial_);
  if (trial_ == x_) return false;
  trial_cost_ = evaluate(trial_, trial_r_);
  return trial_cost_ < cost_ - judgement.contradiction();
}

// After a certificate that failed: from a better point, by second derivatives, or with less damping.
bool BlockMinimizer::goes_on(BlockJudgement& judgement, Termination reason) {
  if (const auto over = spent()) {
    summary_.termination = *over;
    return false;
  }
  if (judgement.distance.known && take_certified_step(judgement, judgement.distance.step, judgement.promised())) return true;
  if (judgement.doubt.empty() && !solver_.iterative() && structure_.tangent_size() <= kMostSecondOrder) {
    if (judge_second_order(judgement)) return true;
    if (judgement.certificate.passed || ended_) return false;
  }
  if (reopened_ >= (reason == Termination::converged ? kReopened : 1)) return false;
  ++reopened_;
  test_held_off_ = true;
  trust_.restore(reason == Termination::converged ? std::max(TrustRegion::kMin, kLessDamping * trust_.lambda()) : options_.initial_lambda);
  return true;
}

// Where the cost falls, or where no cost can tell: the next certificate's gradient does.
bool BlockMinimizer::take_certified_step(const BlockJudgement& judgement, std::span<const double> step, double promised) {
  model_.plus(x_, step, trial_);
  if (trial_ == x_) return false;
  trial_cost_ = evaluate(trial_, trial_r_);
  const double noise = judgement.terms.cost_noise;
  const bool falls = trial_cost_ < cost_ - noise;
  const bool undecided = promised <= 4 * noise && trial_cost_ <= cost_ + noise && trial_cost_ <= summary_.initial_cost;
  if (!falls && !(undecided && within_noise_ < kWithinNoise)) return false;
  if (!falls) ++within_noise_;
  move_to_trial(promised, "the certificate's undamped step");
  trust_.restore(std::clamp(trust_.lambda(), TrustRegion::kMin, options_.initial_lambda));
  return true;
}

void BlockMinimizer::move_to_trial(double promised, std::string reason) {
  rho_ = (cost_ - trial_cost_) / promised;
  judgement_ = Judgement::accept;
  if (control_) met_by_step();  // for the report
  last_decrease_ = std::max((cost_ - trial_cost_) / cost_, 0.0);
  record(StepOutcome::accepted, Event::none, std::move(reason));
  std::swap(x_, trial_);
  std::swap(r_, trial_r_);
  cost_ = trial_cost_;
  scale_.clear();
  rejections_ = 0;
  known_ = recorded_ = test_held_off_ = false;
}

// The tests once more, on the step and the decrement by second derivatives of the cost. True: there is a better point.
bool BlockMinimizer::judge_second_order(BlockJudgement& judgement) {
  const SecondOrder found = find_second_order();
  if (!found.known || ended_) return false;
  if (found.definite) {
    judgement.distance.known = judgement.distance.reached = true;
    judgement.distance.decrement = found.decrement;
    judgement.distance.step = found.step;
    judgement.distance.rank = static_cast<int>(free_size());
    judgement.distance.error = 0;
    apply_tests(point(), tests(), judgement);
    if (judgement.certificate.passed) judgement.certificate.governed_by += " by second derivatives";
    if (judgement.certificate.passed && !contradicted(judgement)) return false;
    judgement.certificate.passed = false;
  }
  std::vector<double> step = found.step;
  double promised = 0.5 * found.decrement * found.decrement;
  for (int k = 0; k < kHalvings; ++k) {
    if (take_certified_step(judgement, step, promised)) return true;
    for (double& s : step) s *= 0.5;
    promised *= 0.5;
  }
  return false;
}

// The step that decides is not known well enough: what was seen with damping holds, and nothing more.
void BlockMinimizer::cut_short(const BlockJudgement& judgement) {
  if (summary_.termination == Termination::converged) {
    summary_.termination = Termination::tolerance;
    stopped_by_ = "the damped step met the tests of first order in f64";
  }
  cut_short_ = fmt::format("; conjugate gradients for the undamped step ended after {} iterations without their goal",
                           judgement.distance.linear_iterations);
}

// Verdict and message of the end.
void BlockMinimizer::finish() {
  Certificate& c = summary_.certificate;
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
  }
  if (c.passed && c.verdict == Verdict::rank_deficient) {
    summary_.message += fmt::format("; the data determine {} of {} directions", c.rank, free_size());
  }
  if (!doubt_.empty()) summary_.message += "; " + doubt_;
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
