#include "block_minimizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

namespace {

constexpr double kU = 0x1p-53;
constexpr double kAccept = 1e-3;         // least gain ratio
constexpr double kScaleMemory = 0.5;     // share of the last scale that a shrinking column keeps
constexpr double kLeastColumn = 1e-16;   // of ‖r‖ for a parameter's own size, or 1: what a column counts for in damping
constexpr double kFinishing = 1e-2;      // standard errors from the optimum at which J becomes f64
constexpr double kFlat = 1e-9;           // relative decrease of the cost at which J becomes f64
constexpr double kExactModel = 0.05;     // of the decrease promised, that the decrease may differ by
constexpr double kShortWay = 0.1;        // of the step, along which its bend is measured
constexpr double kMostBend = 0.75;       // 2 ‖D a‖ / ‖D v‖ beyond which the acceleration is not trusted
constexpr double kStraight = 0.05;       // and up to which the model is linear as far as the step goes
constexpr double kUnbent = 0.005;        // and up to which a correction is not worth an evaluation
constexpr double kShort = 0.25;          // gain ratio of a step that fell short
constexpr double kLeastEta = 1e-4;       // of conjugate gradients for steps
constexpr double kTightEta = 1e-6;       // and for those that decide
constexpr double kTightResidual = 1e-6;  // of theirs, relative
constexpr int kLongRuns = 4;             // so many times the iterations of other steps
constexpr int kPatience = 2;             // rejections in a row after which f32 is suspected

}  // namespace

BlockMinimizer::BlockMinimizer(BlockModel& model, const BlockStructure& structure, SchurSolver& solver, const SolverOptions& options, Gram first,
                               const ProblemControl* control)
    : model_(model), structure_(structure), options_(options), policy_(options.policy()), control_(control), solver_(solver),
      trust_(options.algorithm == Algorithm::gauss_newton ? TrustRegion::kMin : options.initial_lambda),
      plan_{Format::f64, first} {
  model_.start_formats(policy_);
}

Summary BlockMinimizer::run(std::vector<double>& x, Clock::time_point begin) {
  begin_ = begin;
  if (start(x)) {
    iterate();
    x = x_;
  }
  finish();
  return std::move(summary_);
}

bool BlockMinimizer::start(const std::vector<double>& x) {
  x_ = x;
  model_.bounds().project(x_);
  start_ = x_;
  cost_ = evaluate(x_, r_);
  // What functions refer to may have changed since the solve before.
  if (model_.carried() && model_.carries_wrongly(x_)) {
    model_.record_again(x_);
    cost_ = evaluate(x_, r_);
  }
  summary_.initial_cost = summary_.final_cost = cost_;
  if (!std::isfinite(cost_)) {
    summary_.termination = Termination::failure;
    return false;
  }
  if (model_.carried()) return true;
  if (rechecked()) return true;
  model_.distrust("a program gave other residuals than the function itself");
  cost_ = evaluate(x_, r_);
  summary_.initial_cost = cost_;
  return true;
}

void BlockMinimizer::iterate() {
  while (!ended_) {
    if (!control_) {
      if (const auto reason = spent()) return conclude(*reason);
    }
    know();
    if (ended_) break;
    if (control_ && controlled()) continue;
    if (second_order_pays() && step_by_second_order()) continue;
    if (ended_) break;
    step_begin_ = Clock::now();
    aim();
    propose();
    if (!step_.factored || ruled()) continue;
    // A step that was cut short may look shorter than it is.
    if (solver_.iterative() && !reached_ && !low() && first_order()) {
      aim_tightly();
      propose();
      if (!step_.factored) continue;
    }
    if (reached_ || (!low() && first_order())) {
      conclude(reached_.value_or(Termination::converged));
      continue;
    }
    judge();
    settle();
  }
}

std::optional<Termination> BlockMinimizer::spent() const {
  if (stop_asked_) return Termination::user_stop;
  if (summary_.accepted + summary_.rejected >= options_.max_iterations) return Termination::max_iterations;
  if (options_.max_seconds > 0 && seconds_since(begin_) >= options_.max_seconds) return Termination::time_limit;
  return std::nullopt;
}

// J, gradient and column norms at x, in the format in force.
void BlockMinimizer::know() {
  if (known_) return;
  const auto begin = Clock::now();
  in_format([&]<class R, class T>(R, T) {
    if (!recorded_) model_.linearize<R>(x_, r_);
    solver_.gather<R, T>(model_.records<R>(), [this](std::size_t first, std::size_t last) {
      if (!recorded_) model_.finish<R>(first, last);
    });
  });
  recorded_ = true;
  report_widened();
  const double seconds = seconds_since(begin);
  summary_.time.evaluate += seconds;
  facts_.derivative_seconds += seconds;
  ++facts_.derivative_evaluations;
  const auto& squares = solver_.squares();
  bool finite = true;
  scale_.resize(squares.size(), 0.0);
  double largest = 0;
  for (std::size_t j = 0; j < squares.size(); ++j) {
    finite = finite && squares[j] - squares[j] == 0;
    scale_[j] = std::max(std::sqrt(squares[j]), kScaleMemory * scale_[j]);
    largest = std::max(largest, scale_[j]);
  }
  // A column that is as good as zero would not be damped: a step along it knows no measure.
  const std::vector<double> least = tangent_sizes(model_.problem(), structure_, x_);
  const double r = kLeastColumn * std::sqrt(2 * cost_);
  for (std::size_t j = 0; j < scale_.size(); ++j) {
    if (!(scale_[j] > 0)) scale_[j] = largest > 0 ? largest : 1;  // any positive scale will do
    scale_[j] = std::max(scale_[j], r / std::max(1.0, least[j]));
  }
  known_ = true;
  if (finite) {
    if (control_) measure_gradient();
    return hold_at_bounds();
  }
  scale_.clear();
  if (low() && model_.widen_unbounded()) {
    report_widened();
    known_ = recorded_ = false;
    return know();
  }
  if (low()) {
    promote(Gram::f64, Event::overflow, "derivatives leave the range of f32");
    return know();
  }
  summary_.termination = summary_.accepted == 0 ? Termination::failure : Termination::no_progress;
  ended_ = true;
}

void BlockMinimizer::hold_at_bounds() {
  if (!model_.bounds().any()) return;
  held_count_ = model_.bounds().find_held(x_, solver_.gradient(), held_);
  if (held_count_ == 0) return;
  solver_.hold(held_);
  in_format([&]<class R, class T>(R, T) { model_.hold<R>(held_); });
}

// As far as a step is worth it: the last one's decrease of the cost says how near the end is (Eisenstat, Walker, Choosing the
// forcing terms in an inexact Newton method, SIAM J. Sci. Comput. 17, 1996).
void BlockMinimizer::aim() {
  const double eta = std::clamp(std::sqrt(last_decrease_), std::min(kLeastEta, options_.eta), options_.eta);
  solver_.aim(options_.preconditioner, {.eta = eta, .residual = 1, .most = options_.max_linear_iterations});
}

void BlockMinimizer::aim_tightly() {
  solver_.aim(options_.preconditioner, {.eta = kTightEta, .residual = kTightResidual, .most = kLongRuns * options_.max_linear_iterations});
}

void BlockMinimizer::propose() {
  const auto begin = Clock::now();
  ++facts_.linear_solves;
  in_format([&]<class R, class T>(R, T) { solver_.solve<R, T>(model_.records<R>(), trust_.lambda(), scale_, step_); });
  summary_.time.solve += seconds_since(begin);
  report_.solver_seconds = seconds_since(begin);
  facts_.linear_seconds += report_.solver_seconds;
  report_.linear_iterations = step_.iterations;
  summary_.linear_iterations += step_.iterations;
  if (step_.factored) {
    invalid_ = 0;
    if (worth_bending()) bend();
    return;
  }
  if (plan_.gram == Gram::f32_tile) return promote(Gram::f32_wide, Event::not_definite, "normal matrix is not positive definite");
  // Damping is the cure for a matrix that is singular by nature.
  const bool patient = !control_ || control_->max_invalid_steps == 0 || ++invalid_ <= control_->max_invalid_steps;
  if (trust_.exhausted() || !patient) return conclude(Termination::no_progress);
  trust_.restore(std::max(10 * trust_.lambda(), 1e-14));
}

// Geodesic acceleration pays where steps bend: one evaluation of the residuals, no derivatives, for a step that follows the
// model's curvature (options.hpp). On Ladybug-49 19 steps do what 28 did; on pose graphs nothing is won. A bend grows with the
// step's length: where what was measured last says that this one is straight, or too bent to be trusted, it is not looked at,
// but for a straight one after a step that fell short of its promise.
bool BlockMinimizer::worth_bending() const {
  if (options_.geodesic == Geodesic::automatic && solver_.iterative()) return false;  // it takes as many iterations as the step
  if (options_.geodesic != Geodesic::automatic) return options_.geodesic == Geodesic::always;
  const double expected = expected_bend();
  return std::isnan(expected) || (expected <= kMostBend && (expected > kUnbent || rho_ < kShort));
}

// By the last one measured; NaN where there is none.
double BlockMinimizer::expected_bend() const {
  return bent_length_ > 0 ? bend_ * step_.scaled_norm / bent_length_ : std::numeric_limits<double>::quiet_NaN();
}

// v becomes v + a / 2, a by the second derivative along v (Transtrum, Machta, Sethna, Phys. Rev. E 83, 036701, eqs. 5 to 8).
void BlockMinimizer::bend() {
  const auto begin = Clock::now();
  if (!model_.moved_residuals(x_, r_, step_.step, kShortWay, trial_r_)) return;
  const double evaluated = seconds_since(begin);
  double norm = 0;
  in_format([&]<class R, class T>(R, T) {
    norm = solver_.accelerate<R, T>(model_.records<R>(), step_.step, scale_, 2 / kShortWay, trial_r_, acceleration_);
  });
  report_.linear_iterations += solver_.iterations();
  summary_.linear_iterations += solver_.iterations();
  bend_ = 2 * norm / step_.scaled_norm;
  bent_length_ = step_.scaled_norm;
  summary_.time.evaluate += evaluated;
  facts_.cost_seconds += evaluated;
  ++facts_.cost_evaluations;
  summary_.time.solve += seconds_since(begin) - evaluated;
  if (!(bend_ <= kMostBend)) return;  // further terms of the series would be as large
  for (std::size_t j = 0; j < acceleration_.size(); ++j) step_.step[j] += 0.5 * acceleration_[j];
}

// Noise of a difference of costs in f64.
double BlockMinimizer::noise() const { return 8 * kU * cost_; }

double BlockMinimizer::evaluate(const std::vector<double>& x, std::vector<double>& r) {
  const auto begin = Clock::now();
  const double cost = model_.cost(x, r);
  const double seconds = seconds_since(begin);
  summary_.time.evaluate += seconds;
  facts_.cost_seconds += seconds;
  ++facts_.cost_evaluations;
  return cost;
}

double BlockMinimizer::sigma() const {
  const double freedom = static_cast<double>(structure_.residuals) - static_cast<double>(free_size());
  return freedom > 0 ? std::sqrt(2 * cost_ / freedom) : 0;
}

// Largest cosine between r and a column of J.
double BlockMinimizer::cosine() const {
  double largest = 0;
  for (std::size_t j = 0; j < scale_.size(); ++j) {
    const double norm = std::sqrt(solver_.squares()[j]) * std::sqrt(2 * cost_);  // their product may overflow
    if (norm > 0) largest = std::max(largest, std::fabs(solver_.gradient()[j]) / norm);
  }
  return largest;
}

// Of the cosine, by the rounding of residuals: each is a sum of terms of the size of J x, by some operations.
double BlockMinimizer::cosine_bound() const {
  constexpr double kRounding = 16 * kU;
  return cost_ > 0 ? kRounding * model_.scaled_size(x_, scale_) / std::sqrt(2 * cost_) : 0;
}

// Seen with little damping, the optimum is reached; the certificate decides without any.
bool BlockMinimizer::first_order() const {
  if (cost_ == 0 || step_.scaled_norm == 0) return true;
  if (test_held_off_) return false;
  // 32 digits below the start: damping that a singular J needs may stop the steps there, the certificate's QR does not.
  if (cost_ <= kU * kU * summary_.initial_cost) return true;
  const double size = model_.scaled_size(x_, scale_);
  const bool flat = step_.decrement <= options_.tau * sigma() || cosine() <= std::max(options_.gtol, cosine_bound());
  return flat && step_.scaled_norm <= options_.xtol * size && trust_.lambda() <= 1e-4;
}

void BlockMinimizer::judge() {
  shortened_ = model_.plus(x_, step_.step, trial_);
  if (shortened_) {
    model_.bounds().shorten(x_, trial_, step_.step);
    in_format([&]<class R, class T>(R, T) { step_.predicted = model_.promised<R>(step_.step); });
  }
  trial_cost_ = trial_ == x_ ? cost_ : evaluate(trial_, trial_r_);
  const double decrease = cost_ - trial_cost_;
  rho_ = decrease / step_.predicted;
  const double least = control_ ? control_->least_gain : kAccept;
  if (trial_ == x_) judgement_ = Judgement::reject;
  else if (!std::isfinite(trial_cost_)) judgement_ = Judgement::invalid;
  else judgement_ = decrease >= least * step_.predicted && (!shortened_ || step_.predicted > 0) ? Judgement::accept : Judgement::reject;
}

void BlockMinimizer::settle() {
  const double decrease = cost_ - trial_cost_;
  const bool met = control_ && met_by_step();
  record(judgement_ == Judgement::accept ? StepOutcome::accepted : judgement_ == Judgement::invalid ? StepOutcome::invalid : StepOutcome::rejected);
  if (judgement_ != Judgement::accept) {
    const bool lost = trial_ == x_ || (!shortened_ && step_.predicted <= noise());
    if (rejections_ == 0) streak_lambda_ = trust_.lambda();
    if (low() && (lost || ++rejections_ >= kPatience)) return promote(plan_.gram == Gram::f32_tile ? Gram::f32_wide : Gram::f64, Event::rejected_step, "steps are rejected");
    if (met && low()) return promote(Gram::f64, Event::finishing, stopped_by_);
    judgement_ == Judgement::invalid ? trust_.invalid() : trust_.rejected();
    report_.lambda = trust_.lambda();
    if (met) reached_ = Termination::tolerance;
    else if (lost || trust_.exhausted()) reached_ = Termination::no_progress;
    return;
  }
  const auto below = [&](double tolerance) { return decrease <= tolerance * cost_ && step_.predicted <= tolerance * cost_; };
  const bool flat = below(std::max(options_.ftol, low() ? kFlat : 0));
  last_decrease_ = decrease / cost_;
  const bool near = low() && step_.decrement <= kFinishing * sigma() && trust_.lambda() <= 1e-4;
  std::swap(x_, trial_);
  std::swap(r_, trial_r_);
  cost_ = trial_cost_;
  // Most of what was promised: damping is at least halved. A rejection costs no derivatives.
  trust_.accepted(rho_ > 0.5 ? std::max(rho_, 0.9) : rho_);
  // The model is linear, as far as this step went: little damping is called for, and what is there slows weak directions down.
  // (A gain ratio of 1 alone says little: the sum of many residuals that bend may do as a linear one.)
  if (expected_bend() <= kStraight && std::fabs(rho_ - 1) <= kExactModel) trust_.restore(std::max(TrustRegion::kMin, 0.1 * trust_.lambda()));
  rejections_ = 0;
  test_held_off_ = false;
  known_ = recorded_ = false;
  report_.lambda = trust_.lambda();
  if (low() && (flat || near || met)) {
    promote(Gram::f64, Event::finishing, fmt::format("{:.1e} standard errors from the optimum, cost down by {:.1e}", step_.decrement / sigma(), decrease / cost_));
  } else if (met || (flat && options_.ftol > 0)) {
    reached_ = Termination::tolerance;
  }
}

// Nothing concludes below f64. A certificate that fails lets the iteration go on, where it can.
void BlockMinimizer::conclude(Termination reason) {
  const auto begin = Clock::now();
  summary_.termination = reason;
  reached_.reset();
  if (low()) {
    enter(Gram::f64);
    known_ = recorded_ = false;
  }
  know();
  if (!ended_) ended_ = certify(reason);
  summary_.time.certify += seconds_since(begin);
}

void BlockMinimizer::record(StepOutcome outcome, Event event, std::string reason, std::vector<std::string> components) {
  IterationSummary it;
  it.iteration = static_cast<int>(summary_.iterations.size());
  it.cost = cost_;
  it.gradient_norm = known_ ? cosine() : std::numeric_limits<double>::quiet_NaN();
  it.decrement_sigma = sigma() > 0 ? step_.decrement / sigma() : std::numeric_limits<double>::quiet_NaN();
  it.step_norm = known_ ? step_.scaled_norm / model_.scaled_size(x_, scale_) : 0;
  it.lambda = trust_.lambda();
  it.linear_iterations = outcome == StepOutcome::promoted ? 0 : report_.linear_iterations;
  it.rho = outcome == StepOutcome::promoted ? std::numeric_limits<double>::quiet_NaN() : rho_;
  it.plan = plan_;
  it.rows = structure_.residuals;
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
