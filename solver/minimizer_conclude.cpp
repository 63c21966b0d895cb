// The end: when a test seems to hold, the certificate, and what is reported.
#include "minimizer.hpp"

#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int kCertificateTries = 5;
constexpr double kPolishWork = 2e5;  // rows * operations below which a pass costs nothing worth saving
constexpr int kPolishSteps = 100;

// Whether sums of squares over all rows say so, too: of some columns a part of the rows may see nothing but their tails.
bool squares_underflow(const Linearization& at) {
  constexpr double kSafe = 0x1p-1000;
  bool found = !(at.cost > kSafe);
  for (std::size_t j = 0; j < at.gradient.size(); ++j) found = found || !(at.normal(j, j) > kSafe);
  return found;
}

}  // namespace

// A first-order test seems to hold, or no step is left to try: time for the certificate.
bool Minimizer::reached() {
  if (low()) return false;
  if (stalled_ || ftol_met_) return true;
  const Box around = room();
  const double cosine = gradient_cosine(*at_, around);
  if (zero_residual(at_->cost, summary_.initial_cost, magnitude_)) return true;
  const bool known = first_order_known();
  // Within rounding; where columns are nearly dependent that is far from the optimum unless ν₀ is rounding, too. Bounds are worst
  // cases: steps go on while they help, until few standard errors are left.
  const bool in_noise = first_.decrement <= decrement_noise(at_->cost, magnitude_) &&
                        (residuals_are_rounding(at_->cost, magnitude_) || (!last_accepted_ && first_.decrement_sigma <= kNearInNoise));
  if (gradient_noise(*at_, magnitude_, column_magnitude_, evaluator_.jacobian_error(), around).noise &&
      (!known || first_.decrement_sigma <= options_.tau || in_noise)) {
    return true;
  }
  if (known) {
    const bool flat = first_.decrement_sigma <= options_.tau || cosine <= options_.gtol;
    return flat && first_.step_size <= std::max(options_.xtol, step_noise(first_.condition, state_.x.size()));
  }
  // κ₀ is beyond the normal equations: only a QR pass can tell. Ask for it when the damped problem is solved.
  const double sigma = scatter(at_->cost, evaluator_.residuals(), state_.x.size(), unit_sigma_);
  return cosine <= options_.gtol || step_.nu <= 1e-3 * options_.tau * sigma;
}

// Certifies x. False: not yet, carry on from the certificate's own step.
bool Minimizer::conclude(Termination reason) {
  const auto begin = Clock::now();
  const bool concluded = certify_here(reason);
  summary_.time.certify += seconds_since(begin);
  return concluded;
}

bool Minimizer::certify_here(Termination reason) {
  if (low() || low_gram()) {
    state_.plan = {Format::f64, Gram::f64};
    at_.reset();
  }
  if (!at_) {
    evaluator_.linearize_into(state_.x, state_.plan, at_.renew());
    first_order(*at_, state_.x, evaluator_.residuals(), unit_sigma_, memory_.undamped, first_, room());
  }
  if (worse_than_checkpoint()) {
    roll_back();
    if (reason == Termination::converged) return false;
    if (!at_->finite) {
      summary_.termination = Termination::failure;
      return true;
    }
  }
  const bool small = static_cast<double>(evaluator_.residuals()) * evaluator_.row_cost() < kPolishWork;
  if (reason == Termination::converged && small) polish();
  if (reason == Termination::converged) settle_on_bounds();
  evaluator_.recheck_into(state_.x, options_.strict ? evaluator_.residuals() : kRecheckRows, recheck_end_);
  recheck_end_.underflow = recheck_end_.underflow && squares_underflow(*at_);
  magnitude_ = recheck_end_.magnitude;
  cost_magnitude_ = recheck_end_.cost_magnitude > 0 ? recheck_end_.cost_magnitude : magnitude_;
  column_magnitude_ = recheck_end_.column_magnitude;
  certify(evaluator_, state_.x, *at_,
          {options_.tau, options_.xtol, options_.gtol, magnitude_, summary_.initial_cost, unit_sigma_, column_magnitude_,
           recheck_end_.underflow, room()},
          memory_.undamped, certified_);
  if (last_step_ && !widen_by_last_step()) return false;
  summary_.termination = reason;
  if (certified_.first_order || reason != Termination::converged) {
    if (certified_.first_order) summary_.termination = Termination::converged;
    return true;
  }
  if (ftol_met_) {
    summary_.termination = Termination::tolerance;
    return true;
  }
  if (!reached()) {  // only by rounding measured where the terms were larger
    solver_.reset();
    return false;
  }
  if (state_.plan.gram != Gram::qr && !at_->triangle.empty()) {  // it took QR to see that this is not the end
    state_.plan.gram = Gram::qr;
    solver_.reset();
    stalled_ = false;
    last_accepted_ = true;
    trust_.restore(std::min(streak_lambda_, options_.initial_lambda));
    trust_.forgive();
    return false;
  }
  if (++state_.failed_certificates <= kCertificateTries && take_certified_step()) return false;
  summary_.termination = Termination::no_progress;
  return true;
}

// The certificate's undamped step, within the subspace the data determine, if it does not raise the cost.
bool Minimizer::take_certified_step() {
  Vector next;
  move_within(box_, state_.x, certified_.step, {}, next);
  if (next == state_.x) return false;
  Linearization there = evaluator_.linearize(next, {Format::f64, Gram::qr});
  if (!there.finite || there.cost > at_->cost + noise()) return false;
  state_.x = std::move(next);
  last_decrement_ = 0;
  state_.plan.gram = Gram::qr;
  at_.renew() = std::move(there);
  solver_.reset();
  stalled_ = false;
  return true;
}

// Problems too small for passes to cost anything go on, undamped, until ν₀ stops falling.
void Minimizer::polish() {
  for (int k = 0; k < kPolishSteps && first_.usable && first_.decrement > 0; ++k) {
    move_within(box_, state_.x, first_.step, first_.held, trial_);
    if (trial_ == state_.x) return;
    evaluator_.linearize_into(trial_, state_.plan, trial_at_.renew());
    if (!trial_at_->finite || trial_at_->cost > at_->cost + noise()) return;
    FirstOrder& next = memory_.next_first;
    state_.x.swap(trial_);
    first_order(*trial_at_, state_.x, evaluator_.residuals(), unit_sigma_, memory_.undamped, next, room());
    if (!next.usable || !(next.decrement < first_.decrement)) {
      state_.x.swap(trial_);
      return;
    }
    at_.swap(trial_at_);
    std::swap(first_, next);
  }
}

// The last bit of the way to a bound that is to hold a parameter: costs need not show it, and short of the bound nothing
// holds.
void Minimizer::settle_on_bounds() {
  if (!first_.usable || first_.held.empty()) return;
  bool short_of_one = false;
  for (std::size_t j = 0; j < state_.x.size(); ++j) {
    short_of_one = short_of_one || (first_.held[j] != Held::none && first_.step[j] != 0);
  }
  if (!short_of_one) return;
  move_within(box_, state_.x, first_.step, first_.held, trial_);
  evaluator_.linearize_into(trial_, state_.plan, trial_at_.renew());
  if (!trial_at_->finite || trial_at_->cost > at_->cost + noise()) return;
  state_.x.swap(trial_);
  at_.swap(trial_at_);
  first_order(*at_, state_.x, evaluator_.residuals(), unit_sigma_, memory_.undamped, first_, room());
}

void Minimizer::finish(MinimizerResult& out) {
  account(state_.iteration);
  Certificate& c = certified_.certificate;
  c.rechecked_rows = recheck_start_.rows + recheck_end_.rows;
  c.recheck_discrepancy = std::max(recheck_start_.largest, recheck_end_.largest);
  // Beyond rounding: large beside the terms, and large enough to move a parameter by τ standard errors.
  const auto agrees = [&](const Recheck& r, double cost) {
    const double sigma = scatter(cost, evaluator_.residuals(), state_.x.size(), unit_sigma_);
    return r.largest <= 1e-9 || r.discrepancy <= options_.tau * sigma;
  };
  const bool started = summary_.termination != Termination::failure;
  c.recheck_passed = started && agrees(recheck_start_, summary_.initial_cost) && agrees(recheck_end_, c.cost);
  const Recheck& doubt = recheck_end_.wrong_column >= 0 ? recheck_end_ : recheck_start_;
  c.wrong_column = doubt.wrong_column;
  c.jacobian_difference = doubt.jacobian_difference;
  c.recheck_passed = c.recheck_passed && c.wrong_column < 0;
  if (!c.recheck_passed) c.passed = false;
  if (started && !certified_.first_order) {
    c.verdict = summary_.termination == Termination::tolerance ? Verdict::tolerance : Verdict::budget;
    c.governed_by = name(summary_.termination);
  }
  if (!started || !c.recheck_passed) c.verdict = Verdict::failed;
  summary_.verdict = c.verdict;
  summary_.final_cost = started ? c.cost : summary_.initial_cost;
  summary_.certificate = c;
  summary_.eliminated.assign(projection_.eliminated().begin(), projection_.eliminated().end());
  out.x = state_.x;
  out.spent = budget_spent();
  out.repeats = recheck_start_.repeats && recheck_end_.repeats;
  out.underflow = recheck_end_.underflow;
  out.cost_noise = at_ && at_->finite ? noise() : 0;
  if (at_) std::swap(out.at, *at_);
  at_.reset();
  std::swap(out.certified, certified_);
  std::swap(out.summary, summary_);
}

}  // namespace nlsq::inline v0
