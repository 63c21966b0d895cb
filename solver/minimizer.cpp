#include "minimizer.hpp"
#include "tile_issues.hpp"

#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kScaleMemory = 0.5;  // share of the last scale that a shrinking column keeps

KernelCounters since(const KernelCounters& now, const KernelCounters& before) {
  return {now.rows_f64 - before.rows_f64,
          now.rows_f32 - before.rows_f32,
          now.gram_flops_f64 - before.gram_flops_f64,
          now.gram_flops_f32 - before.gram_flops_f32,
          now.gram_flops_f32_wide - before.gram_flops_f32_wide,
          now.gram_flops_f16 - before.gram_flops_f16,
          now.gram_flops_bf16 - before.gram_flops_bf16,
          now.qr_flops_f64 - before.qr_flops_f64};
}

}  // namespace

Minimizer::Minimizer(Evaluator& evaluator, const SolverOptions& options, bool unit_sigma, bool geodesic)
    : Minimizer(evaluator, options, unit_sigma, geodesic, *new MinimizerWorkspace) {
  own_.reset(&memory_);
}

// Everything that could be read before it is written is as in a new one.
Minimizer::Minimizer(Evaluator& evaluator, const SolverOptions& options, bool unit_sigma, bool geodesic,
                     MinimizerWorkspace& workspace)
    : memory_(workspace), evaluator_(evaluator), options_(options), unit_sigma_(unit_sigma), geodesic_(geodesic),
      trust_(options.algorithm == Algorithm::levenberg_marquardt ? options.initial_lambda : TrustRegion::kMin),
      nonmonotonic_(options.nonmonotonic_steps) {
  state_.x.swap(memory_.x);
  state_.scale.swap(memory_.scale);
  state_.checkpoint.swap(memory_.checkpoint);
  summary_.iterations.swap(memory_.iterations);
  summary_.iterations.clear();
  counted_ = evaluator.counters();
  memory_.undamped.solver.share_out(options);
  state_.scale.clear();
  trial_.clear();
  column_magnitude_.clear();
  at_.reset();
  trial_at_.reset();
  solver_.reset();
  first_.usable = false;
  first_.held.clear();
  step_.factored = false;
  step_.held.clear();
  for (Recheck* recheck : {&recheck_start_, &recheck_end_}) {
    recheck->rows = 0;
    recheck->largest = recheck->discrepancy = recheck->magnitude = recheck->jacobian_difference = 0;
    recheck->wrong_column = -1;
    recheck->repeats = true;
    recheck->underflow = false;
  }
  projection_.offer({}, {}, VariableProjection::off);
  certified_.first_order = false;
  certified_.certificate = {};
  certified_.covariance.assign(0, 0);
}

Minimizer::~Minimizer() {
  state_.x.swap(memory_.x);
  state_.scale.swap(memory_.scale);
  state_.checkpoint.swap(memory_.checkpoint);
  summary_.iterations.swap(memory_.iterations);
}

MinimizerResult Minimizer::run(const Vector& x0, std::optional<Linearization> at, Clock::time_point begin) {
  Kept<Linearization> known;
  if (at) known.renew() = std::move(*at);
  MinimizerResult out;
  run(x0, known, begin, out);
  return out;
}

void Minimizer::run(std::span<const double> x0, Kept<Linearization>& at, Clock::time_point begin, MinimizerResult& out) {
  begin_ = begin;
  if (start(x0, at)) {
    measure_rounding();
    iterate();
  }
  finish(out);
}

void Minimizer::iterate() {
  for (;;) {
    if (at_ && !at_->finite) {  // rolled back to a start that f32 took for finite and f64 does not
      summary_.termination = Termination::failure;
      break;
    }
    if (const auto spent = budget_spent()) {
      conclude(*spent);
      break;
    }
    if (lost_below_f64()) {
      conclude(Termination::no_progress);
      break;
    }
    know();
    assess();
    if (promote()) continue;
    if (reached() || take_last_step()) {
      if (conclude(Termination::converged)) break;
      continue;
    }
    propose();
    judge();
    settle();
  }
}

// Precision for the first pass, finite residuals, and what rounding errors scale with.
bool Minimizer::start(std::span<const double> x0, Kept<Linearization>& at) {
  state_.x.assign(x0.begin(), x0.end());
  state_.plan = first_plan(evaluator_, options_.policy());
  if (at) {
    state_.plan = at->plan;  // the policy's first one, or f64 where the rows are too much for f32
    at_.swap(at);
  } else {
    evaluator_.linearize_into(state_.x, state_.plan, at_.renew());
  }
  if (!at_->finite && low()) {
    state_.plan = {Format::f64, Gram::f64};
    evaluator_.linearize_into(state_.x, state_.plan, at_.renew());
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
  evaluator_.recheck_into(state_.x, options_.strict ? evaluator_.residuals() : kRecheckRows, recheck_start_);
  magnitude_ = recheck_start_.magnitude;
  cost_magnitude_ = recheck_start_.cost_magnitude > 0 ? recheck_start_.cost_magnitude : magnitude_;
  column_magnitude_ = recheck_start_.column_magnitude;
}

bool Minimizer::warm_up(std::span<const double> x0, Kept<Linearization>& at, double near, Clock::time_point begin) {
  constexpr int kMostSteps = 50;
  begin_ = begin;
  if (!start(x0, at)) return false;
  while (state_.iteration - first_iteration_ < kMostSteps && !stalled_ && !budget_spent()) {
    if (at_ && !at_->finite) return false;
    know();
    const FirstOrder here = low() ? first_order(*at_, state_.x, evaluator_.residuals(), unit_sigma_, room()) : first_;
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

WarmStart Minimizer::warm_result() {
  account(state_.iteration);
  return {state_.x, at_ ? std::optional(std::move(*at_)) : std::nullopt, std::move(summary_.iterations), budget_spent(),
          std::move(summary_.precision.issues), {projection_.eliminated().begin(), projection_.eliminated().end()}};
}

std::optional<Termination> Minimizer::budget_spent() const {
  if (stop_asked_) return Termination::user_stop;
  if (state_.iteration >= options_.max_iterations) return Termination::max_iterations;
  if (options_.max_seconds > 0 && seconds_since(begin_) >= options_.max_seconds) return Termination::time_limit;
  return std::nullopt;
}

// A quarter of all iterations, and f32 rows still lead on, or those of 16 bits did to where f64 might not have gone, with
// linear parameters eliminated: leaves the rest to an attempt in f64 from the start.
bool Minimizer::lost_below_f64() const {
  constexpr int kFewest = 100;
  return (low() || projection_.too_few_digits()) && state_.iteration - first_iteration_ >= std::max(kFewest, options_.max_iterations / 4);
}

// The linearization of x in the plan in force, with everything derived from it.
void Minimizer::know() {
  if (at_ && solver_) return;
  if (!at_) evaluator_.linearize_into(state_.x, state_.plan, at_.renew());
  update_scale();
  const Box around = room();
  solver_.renew().set(*at_, state_.scale);
  solver_->share_out(options_);
  add_curvature();
  solver_->keep_within(around);
  if (projection_.active()) solver_->weigh_damping(projection_.weigh_damping(*at_));
  probe_.reset();
  first_order(*at_, state_.x, evaluator_.residuals(), unit_sigma_, memory_.undamped, first_, around);
  if (low() || low_gram()) probe_ = evaluator_.probe(state_.x, at_->plan, format_below());
  if (!low()) cost_f64_ = at_->cost;
  else if (std::isinf(checkpoint_noise_) && state_.x == state_.checkpoint) checkpoint_noise_ = probe_->cost_noise;
}

// How far parameters may go: below f64 to the last float within the bounds, from where f64 goes on to the bound itself.
Box Minimizer::room() {
  if (box_.empty()) return {};
  Vector &below = memory_.room_below, &above = memory_.room_above;
  below.resize(state_.x.size());
  above.resize(state_.x.size());
  for (std::size_t j = 0; j < state_.x.size(); ++j) {
    const double x = state_.x[j], lower = box_.lower[j], upper = box_.upper[j];
    below[j] = std::min(0.0, (low() ? on_grid(lower, lower, upper) : lower) - x);
    above[j] = std::max(0.0, (low() ? on_grid(upper, lower, upper) : upper) - x);
  }
  return {below, above};
}

void Minimizer::update_scale() {
  Vector& norms = memory_.norms;
  column_norms(*at_, norms);
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

// ‖D x‖.
double Minimizer::scaled_size() const {
  double squares = 0;
  for (std::size_t j = 0; j < state_.x.size(); ++j) squares += std::pow(state_.x[j] * state_.scale[j], 2);
  return std::sqrt(squares);
}

// What passes since the last iteration did, to the account of the one that `iteration` numbers.
void Minimizer::account(int iteration) {
  for (PrecisionIssue& issue : evaluator_.take_issues()) {
    issue.iteration = iteration;
    add_issue(summary_.precision.issues, issue);
  }
}

void Minimizer::record(StepOutcome outcome, Event event, std::string reason, std::vector<std::string> components) {
  account(state_.iteration);
  IterationSummary it;
  it.iteration = state_.iteration++;
  it.cost = at_->cost;
  it.gradient_norm = gradient_cosine(*at_, room());
  const double sigma = scatter(at_->cost, evaluator_.residuals(), state_.x.size(), unit_sigma_);
  it.decrement_sigma = sigma > 0 ? step_.nu / sigma : kNaN;
  it.step_norm = step_.scaled_norm / scaled_size();
  it.lambda = undamped() ? 0 : trust_.lambda();
  it.rho = outcome == StepOutcome::promoted ? kNaN : rho_;
  it.plan = at_->plan;
  it.rows = evaluator_.residuals();
  it.condition = step_.condition;
  it.counters = since(evaluator_.counters(), counted_);
  counted_ = evaluator_.counters();
  it.outcome = outcome;
  it.event = event;
  it.reason = std::move(reason);
  it.components = std::move(components);
  if (outcome == StepOutcome::accepted) ++summary_.accepted;
  if (outcome == StepOutcome::rejected || outcome == StepOutcome::invalid) ++summary_.rejected;
  if (options_.callback && options_.callback(it) == CallbackResult::stop) stop_asked_ = true;
  summary_.iterations.push_back(std::move(it));
}

}  // namespace nlsq::inline v0
