#include "minimizer.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kU = 0x1p-53;
constexpr std::size_t kRecheckRows = 4096;
constexpr int kCertificateTries = 5;
constexpr double kPolishWork = 2e5;   // rows * operations below which a pass costs nothing worth saving
constexpr int kPolishSteps = 100;
constexpr double kScaleMemory = 0.5;  // share of the last scale that a shrinking column keeps
constexpr int kHardFit = 10;          // iterations after which a fit is taken for a hard one
constexpr double kAccept = 1e-4;      // least gain ratio, f64
constexpr double kAcceptLow = 0.1;    // the same below f64
constexpr double kNormalCondition = 1e12;  // κ₀ up to which undamped normal equations are believed

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

Minimizer::Minimizer(Evaluator& evaluator, const SolverOptions& options, bool unit_sigma, bool geodesic)
    : evaluator_(evaluator), options_(options), unit_sigma_(unit_sigma), geodesic_(geodesic),
      trust_(options.algorithm == Algorithm::gauss_newton ? TrustRegion::kMin : options.initial_lambda) {}

MinimizerResult Minimizer::run(Vector x0, std::optional<Linearization> at, Clock::time_point begin) {
  begin_ = begin;
  if (!start(std::move(x0), std::move(at))) return finish();
  measure_rounding();
  for (;;) {
    if (const auto spent = budget_spent()) {
      conclude(*spent);
      break;
    }
    know();
    assess();
    if (promote()) continue;
    if (reached()) {
      if (conclude(Termination::converged)) break;
      continue;
    }
    propose();
    judge();
    settle();
  }
  return finish();
}

// Precision for the first pass, finite residuals, and what rounding errors scale with.
bool Minimizer::start(Vector x0, std::optional<Linearization> at) {
  state_.x = std::move(x0);
  const double work = static_cast<double>(evaluator_.residuals()) * evaluator_.row_cost();
  state_.plan = initial_plan(options_.precision, work, evaluator_.has_f32());
  at_ = at ? std::move(at) : evaluator_.linearize(state_.x, state_.plan);
  if (!at_->finite && low()) {
    state_.plan = {Format::f64, Gram::f64};
    at_ = evaluator_.linearize(state_.x, state_.plan);
  }
  if (!at_->finite) {
    summary_.termination = Termination::failure;
    return false;
  }
  summary_.initial_cost = at_->cost;
  state_.checkpoint = state_.x;
  state_.checkpoint_cost = at_->cost;
  checkpoint_noise_ = low() ? std::numeric_limits<double>::infinity() : 0;
  streak_lambda_ = trust_.lambda();
  return true;
}

// What rounding errors of the residuals scale with, from the user's own callable at the start.
void Minimizer::measure_rounding() {
  recheck_start_ = evaluator_.recheck(state_.x, options_.strict ? evaluator_.residuals() : kRecheckRows);
  magnitude_ = recheck_start_.magnitude;
}

bool Minimizer::warm_up(Vector x0, std::optional<Linearization> at, double near, Clock::time_point begin) {
  constexpr int kMostSteps = 50;
  begin_ = begin;
  if (!start(std::move(x0), std::move(at))) return false;
  while (state_.iteration < kMostSteps && !stalled_ && !budget_spent()) {
    know();
    const FirstOrder here = low() ? first_order(*at_, state_.x, evaluator_.residuals(), unit_sigma_) : first_;
    if (!here.usable || here.condition > kNormalCondition) return false;
    if (here.decrement_sigma <= near) return true;
    assess();
    if (promote()) continue;
    propose();
    judge();
    settle();
  }
  return false;
}

WarmStart Minimizer::warm_result() { return {state_.x, std::move(*at_), std::move(summary_.iterations), stop_asked_}; }

std::optional<Termination> Minimizer::budget_spent() const {
  if (stop_asked_) return Termination::user_stop;
  if (state_.iteration >= options_.max_iterations) return Termination::max_iterations;
  if (options_.max_seconds > 0 && seconds_since(begin_) >= options_.max_seconds) return Termination::time_limit;
  return std::nullopt;
}

// The linearization of x in the plan in force, with everything derived from it.
void Minimizer::know() {
  if (at_ && solver_) return;
  if (!at_) at_ = evaluator_.linearize(state_.x, state_.plan);
  update_scale();
  solver_.emplace(*at_, state_.scale);
  probe_.reset();
  first_ = first_order(*at_, state_.x, evaluator_.residuals(), unit_sigma_);
  if (low()) probe_ = evaluator_.probe(state_.x);
  if (!low()) cost_f64_ = at_->cost;
  else if (state_.x == state_.checkpoint) checkpoint_noise_ = probe_->cost_noise;
}

void Minimizer::update_scale() {
  const Vector norms = column_norms(*at_);
  state_.scale.resize(norms.size(), 0.0);
  double largest = 0;
  for (std::size_t j = 0; j < norms.size(); ++j) {
    state_.scale[j] = std::max(norms[j], kScaleMemory * state_.scale[j]);
    largest = std::max(largest, state_.scale[j]);
  }
  for (double& d : state_.scale) {
    if (!(d > 0)) d = largest > 0 ? largest : 1;  // a column still zero: any positive scale will do
  }
}

// Inside one standard error of the optimum of the linear model, and that model well determined. With few
// degrees of freedom σ is itself made of the distance: the step must be a small part of the residual, too.
bool Minimizer::near_optimum() const {
  return first_.usable && first_.condition <= kNormalCondition && first_.decrement_sigma <= 1 &&
         first_.decrement * first_.decrement <= 0.1 * 2 * at_->cost;
}

// Damping only slows the last steps: it leaves λ/(λ + eigenvalue) of the distance. Not after one failed.
bool Minimizer::undamped() const { return near_optimum() && last_accepted_; }

// Step at the damping in force, and the numbers the scheduler decides by.
void Minimizer::assess() {
  const auto begin = Clock::now();
  step_ = solver_->solve(undamped() ? 0 : trust_.lambda());
  // Damping, not more digits, is the cure for a matrix that is singular by nature.
  for (double shift = 1e-14; !step_.factored && !low() && shift < 1e-6; shift *= 10) {
    if (trust_.lambda() >= shift) continue;
    trust_.restore(shift);
    step_ = solver_->solve(shift);
  }
  summary_.time.solve += seconds_since(begin);
  health_ = {};
  health_.plan = state_.plan;
  health_.finite = at_->finite;
  health_.nonfinite_tiles = at_->nonfinite_tiles;
  health_.factored = step_.factored;
  health_.kappa_lambda = step_.condition;
  health_.nu = step_.nu;
  health_.predicted = step_.predicted;
  health_.parameters = evaluator_.parameters();
  health_.undecided_in_a_row = state_.undecided_in_a_row;
  health_.stalled = stalled_;
  if (near_optimum()) health_.undamped_sigma = first_.decrement_sigma;
  if (!probe_ || !step_.factored) return;
  health_.finite = health_.finite && probe_->finite;
  health_.cost_noise = probe_->cost_noise;
  health_.gradient_noise =
      solver_->norm_in_metric(probe_->gradient_bias) + 2 * solver_->rms_in_metric(probe_->gradient_scatter);
}

bool Minimizer::promote() {
  const Decision decision = next_plan(health_);
  if (decision.plan == state_.plan) return false;
  if (decision.at_trial && finish_in(decision.plan)) return true;
  std::string reason;
  switch (decision.event) {
    case Event::overflow: reason = fmt::format("{:.1f} % of tiles overflow", 100 * health_.nonfinite_tiles); break;
    case Event::not_definite: reason = "normal matrix is not positive definite"; break;
    case Event::condition:
      reason = fmt::format("condition {:.1e} > {:.1e}", health_.kappa_lambda,
                           condition_limit(state_.plan.gram, health_.parameters));
      break;
    case Event::gradient_noise: reason = fmt::format("noise {:.1e} > 0.1 * nu {:.1e}", health_.gradient_noise, health_.nu); break;
    case Event::cost_noise: reason = fmt::format("cost noise {:.1e}, predicted {:.1e}", health_.cost_noise, health_.predicted); break;
    case Event::finishing: reason = fmt::format("{:.1e} standard errors from the optimum", health_.undamped_sigma); break;
    default: reason = "no acceptable step";
  }
  escalate(decision, std::move(reason));
  return true;
}

// Takes the step and knows its end in f64 at once. Costs of two precisions are not comparable; gradients
// in the metric of H are. False: the step did not help.
bool Minimizer::finish_in(const PrecisionPlan& plan) {
  propose();
  Linearization there = evaluator_.linearize(trial_, plan);
  if (!there.finite || !(solver_->norm_in_metric(there.gradient) < solver_->norm_in_metric(at_->gradient))) return false;
  rho_ = kNaN;
  record(StepOutcome::accepted, Event::finishing, fmt::format("{:.1e} standard errors from the optimum", health_.undamped_sigma));
  ++summary_.precision.escalations;
  state_.x = trial_;
  state_.plan = plan;
  at_ = std::move(there);
  solver_.reset();
  cost_f64_.reset();
  streak_lambda_ = trust_.lambda();
  last_accepted_ = true;
  return true;
}

void Minimizer::escalate(const Decision& decision, std::string reason) {
  record(StepOutcome::promoted, decision.event, std::move(reason));
  ++summary_.precision.escalations;
  const bool finer_rows = decision.plan.residual != state_.plan.residual;
  state_.plan = decision.plan;
  trust_.restore(streak_lambda_);
  at_.reset();
  solver_.reset();
  cost_f64_.reset();
  state_.undecided_in_a_row = 0;
  stalled_ = false;
  last_accepted_ = true;
  if (!finer_rows) return;
  // Now costs are true: a point worse than the last verified one is not kept.
  at_ = evaluator_.linearize(state_.x, state_.plan);
  if (!at_->finite) roll_back();
}

// Whether f64 shows x to be worse than where the iteration started: low precision led astray. The start's
// cost is known in f64, or in f32 up to its noise; only where that leaves the question open a pass tells.
bool Minimizer::worse_than_checkpoint() {
  if (state_.checkpoint == state_.x || at_->cost + checkpoint_noise_ < state_.checkpoint_cost) return false;
  if (checkpoint_noise_ > 0) {
    state_.checkpoint_cost = evaluator_.cost(state_.checkpoint, Format::f64).cost;
    checkpoint_noise_ = 0;
  }
  return at_->cost > state_.checkpoint_cost + noise();
}

void Minimizer::roll_back() {
  record(StepOutcome::promoted, Event::rollback, fmt::format("cost {:.9g} is above the checkpoint's", at_->cost));
  state_.x = state_.checkpoint;
  state_.plan = {Format::f64, Gram::f64};
  trust_.restore(options_.initial_lambda);
  at_ = evaluator_.linearize(state_.x, state_.plan);
  solver_.reset();
  cost_f64_.reset();
}

// A first-order test seems to hold, or no step is left to try: time for the certificate.
bool Minimizer::reached() {
  if (low()) return false;
  if (stalled_ || ftol_met_) return true;
  const double bound = cosine_bound(*at_, magnitude_, evaluator_.jacobian_error());
  const double cosine = gradient_cosine(*at_);
  if (at_->cost <= kU * kU * summary_.initial_cost) return true;
  if (first_.usable && first_.condition <= kNormalCondition) {
    const bool flat = first_.decrement_sigma <= options_.tau || cosine <= options_.gtol;
    return cosine <= bound || (flat && first_.step_size <= options_.xtol);
  }
  // κ₀ is beyond the normal equations: only a QR pass can tell. Ask for it when the damped problem is solved.
  const double sigma = scatter(at_->cost, evaluator_.residuals(), state_.x.size(), unit_sigma_);
  return cosine <= bound || cosine <= options_.gtol || step_.nu <= 1e-3 * options_.tau * sigma;
}

// Certifies x. False: not yet, carry on from the certificate's own step.
bool Minimizer::conclude(Termination reason) {
  const auto begin = Clock::now();
  const bool concluded = certify_here(reason);
  summary_.time.certify += seconds_since(begin);
  return concluded;
}

bool Minimizer::certify_here(Termination reason) {
  if (low()) {
    state_.plan = {Format::f64, Gram::f64};
    at_.reset();
  }
  if (!at_) {
    at_ = evaluator_.linearize(state_.x, state_.plan);
    first_ = first_order(*at_, state_.x, evaluator_.residuals(), unit_sigma_);
  }
  if (worse_than_checkpoint()) {
    roll_back();
    if (reason == Termination::converged) return false;
  }
  const bool small = static_cast<double>(evaluator_.residuals()) * evaluator_.row_cost() < kPolishWork;
  if (reason == Termination::converged && small) polish();
  recheck_end_ = evaluator_.recheck(state_.x, options_.strict ? evaluator_.residuals() : kRecheckRows);
  magnitude_ = recheck_end_.magnitude;
  certified_ = certify(evaluator_, state_.x, *at_,
                       {options_.tau, options_.xtol, options_.gtol, magnitude_, summary_.initial_cost, unit_sigma_});
  summary_.termination = reason;
  if (certified_.first_order || reason != Termination::converged) {
    if (certified_.first_order) summary_.termination = Termination::converged;
    return true;
  }
  if (ftol_met_) {
    summary_.termination = Termination::tolerance;
    return true;
  }
  if (++state_.failed_certificates <= kCertificateTries && take_certified_step()) return false;
  summary_.termination = Termination::no_progress;
  return true;
}

// The certificate's undamped step, within the subspace the data determine, if it does not raise the cost.
bool Minimizer::take_certified_step() {
  Vector next = state_.x;
  for (std::size_t j = 0; j < next.size(); ++j) next[j] += certified_.step[j];
  if (next == state_.x) return false;
  Linearization there = evaluator_.linearize(next, {Format::f64, Gram::qr});
  if (!there.finite || there.cost > at_->cost + noise()) return false;
  state_.x = std::move(next);
  state_.plan.gram = Gram::qr;
  at_ = std::move(there);
  solver_.reset();
  stalled_ = false;
  return true;
}

// Problems too small for passes to cost anything go on, undamped, until ν₀ stops falling.
void Minimizer::polish() {
  for (int k = 0; k < kPolishSteps && first_.usable && first_.decrement > 0; ++k) {
    Vector next = state_.x;
    for (std::size_t j = 0; j < next.size(); ++j) next[j] += first_.step[j];
    if (next == state_.x) return;
    Linearization there = evaluator_.linearize(next, state_.plan);
    if (!there.finite || there.cost > at_->cost + noise()) return;
    FirstOrder first = first_order(there, next, evaluator_.residuals(), unit_sigma_);
    if (!first.usable || !(first.decrement < first_.decrement)) return;
    state_.x = std::move(next);
    at_ = std::move(there);
    first_ = std::move(first);
  }
}

void Minimizer::propose() {
  const bool hard = options_.geodesic == Geodesic::automatic && state_.iteration >= kHardFit;
  if ((geodesic_ || hard) && !low() && step_.factored && !undamped()) add_acceleration();
  trial_ = state_.x;
  for (std::size_t j = 0; j < trial_.size(); ++j) {
    trial_[j] += step_.step[j];
    // On the f32 grid the parameters' own rounding cannot disturb f32 residuals coherently.
    if (low()) trial_[j] = static_cast<double>(static_cast<float>(trial_[j]));
  }
}

// Transtrum, Machta, Sethna: half the acceleration -(H+λD²)⁻¹ Jᵀ r_vv, if it is the smaller part of the path.
void Minimizer::add_acceleration() {
  constexpr double kStep = 0.1, kLargest = 0.75;
  const Vector bend = evaluator_.second_order(state_.x, step_.step, kStep);
  const Vector acceleration = solver_->apply_inverse(bend);
  double norm = 0;
  for (std::size_t j = 0; j < acceleration.size(); ++j) norm += std::pow(acceleration[j] * state_.scale[j], 2);
  if (!(2 * std::sqrt(norm) <= kLargest * step_.scaled_norm)) return;
  for (std::size_t j = 0; j < acceleration.size(); ++j) step_.step[j] += 0.5 * acceleration[j];
}

// Noise of a cost in f64: Σ|r||δr| with δr a few roundings of the terms r is made of.
double Minimizer::noise() const {
  return 4 * kU * (magnitude_ * std::sqrt(2 * at_->cost) + 2 * at_->cost);
}

void Minimizer::judge() {
  trial_at_.reset();
  rho_ = kNaN;
  if (trial_ == state_.x || !step_.factored) {
    judgement_ = Judgement::reject;
    stalled_ = trial_ == state_.x;
    return;
  }
  // After a good step the next is likely to be good too: cost and linearization in one pass.
  if (last_accepted_) {
    trial_at_ = evaluator_.linearize(trial_, state_.plan);
    trial_cost_ = trial_at_->finite ? trial_at_->cost : kNaN;
  } else {
    trial_cost_ = evaluator_.cost(trial_, state_.plan.residual).cost;
  }
  if (!std::isfinite(trial_cost_)) {
    judgement_ = Judgement::invalid;
    return;
  }
  if (judge_costs(at_->cost, trial_cost_, low() ? probe_->cost_noise : noise())) {
    state_.undecided_in_a_row = 0;
    return;
  }
  if (!low()) {
    judge_by_gradient();
    return;
  }
  // Costs of different precisions are never subtracted: both again in f64.
  ++state_.undecided_in_a_row;
  if (!cost_f64_) cost_f64_ = evaluator_.cost(state_.x, Format::f64).cost;
  const double after = evaluator_.cost(trial_, Format::f64).cost;
  if (!judge_costs(*cost_f64_, after, noise())) {
    judgement_ = Judgement::reject;
    stalled_ = true;
  }
}

// The three-valued gain ratio. False: undecided, the noise covers the difference.
bool Minimizer::judge_costs(double before, double after, double noise) {
  const double least = (low() ? kAcceptLow : kAccept) * step_.predicted;
  decrease_ = before - after;
  rho_ = decrease_ / step_.predicted;
  judgement_ = Judgement::undecided;
  if (decrease_ - noise >= least) judgement_ = Judgement::accept;
  else if (decrease_ + noise < least || !std::isfinite(after)) judgement_ = Judgement::reject;
  return judgement_ != Judgement::undecided;
}

// Near the optimum cost differences drown in rounding while the gradient still speaks: accept iff it
// falls in the metric of H.
void Minimizer::judge_by_gradient() {
  if (!trial_at_) trial_at_ = evaluator_.linearize(trial_, state_.plan);
  const bool falls = trial_at_->finite &&
                     solver_->norm_in_metric(trial_at_->gradient) < solver_->norm_in_metric(at_->gradient);
  judgement_ = falls ? Judgement::accept : Judgement::reject;
  rho_ = falls ? 1 : kNaN;
  if (!falls && step_.scaled_norm == 0) stalled_ = true;
}

void Minimizer::settle() {
  const bool accepted = judgement_ == Judgement::accept;
  record(accepted ? StepOutcome::accepted
                  : judgement_ == Judgement::invalid ? StepOutcome::invalid : StepOutcome::rejected);
  if (!accepted && undamped()) {
    last_accepted_ = false;  // says nothing about the damping, which is tried next
    return;
  }
  if (!accepted) {
    judgement_ == Judgement::invalid ? trust_.invalid() : trust_.rejected();
    if (trust_.exhausted()) stalled_ = true;
    last_accepted_ = false;
    return;
  }
  const double scale = std::max(at_->cost, std::numeric_limits<double>::min());
  ftol_met_ = !low() && options_.ftol > 0 && decrease_ <= options_.ftol * scale && step_.predicted <= options_.ftol * scale;
  state_.x = trial_;
  at_ = std::move(trial_at_);
  trial_at_.reset();
  solver_.reset();
  cost_f64_.reset();
  trust_.accepted(rho_);
  streak_lambda_ = trust_.lambda();
  last_accepted_ = true;
}

void Minimizer::record(StepOutcome outcome, Event event, std::string reason) {
  IterationSummary it;
  it.iteration = state_.iteration++;
  it.cost = at_->cost;
  it.gradient_norm = gradient_cosine(*at_);
  const double sigma = scatter(at_->cost, evaluator_.residuals(), state_.x.size(), unit_sigma_);
  it.decrement_sigma = sigma > 0 ? step_.nu / sigma : kNaN;
  double size = 0;
  for (std::size_t j = 0; j < state_.x.size(); ++j) size += std::pow(state_.x[j] * state_.scale[j], 2);
  it.step_norm = step_.scaled_norm / std::sqrt(size);
  it.lambda = undamped() ? 0 : trust_.lambda();
  it.rho = outcome == StepOutcome::promoted ? kNaN : rho_;
  it.plan = state_.plan;
  it.rows = evaluator_.residuals();
  it.condition = step_.condition;
  it.outcome = outcome;
  it.event = event;
  it.reason = std::move(reason);
  if (outcome == StepOutcome::accepted) ++summary_.accepted;
  if (outcome == StepOutcome::rejected || outcome == StepOutcome::invalid) ++summary_.rejected;
  if (options_.callback && options_.callback(it) == CallbackResult::stop) stop_asked_ = true;
  summary_.iterations.push_back(std::move(it));
}

MinimizerResult Minimizer::finish() {
  MinimizerResult out;
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
  if (!c.recheck_passed) c.passed = false;
  if (started && !certified_.first_order) {
    c.verdict = summary_.termination == Termination::tolerance ? Verdict::tolerance : Verdict::budget;
    c.governed_by = name(summary_.termination);
  }
  if (!started || !c.recheck_passed) c.verdict = Verdict::failed;
  summary_.verdict = c.verdict;
  summary_.final_cost = started ? c.cost : summary_.initial_cost;
  summary_.certificate = c;
  out.x = state_.x;
  if (at_) out.at = std::move(*at_);
  out.certified = std::move(certified_);
  out.summary = std::move(summary_);
  return out;
}

}  // namespace nlsq::inline v0
