// Implements BlockSystem: the operations of the minimizer's loop on a block problem.
#include "blocks/block_system.hpp"

#include "support/all_finite.hpp"
#include "support/constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr double kUndamped = 1e-14;  // the least damping that lets a singular matrix be factored
// Damping takes at least this column norm, relative to ‖r‖ over the parameter's size, or over 1.
constexpr double kLeastColumn = 1e-6;
constexpr double kShortWay = 0.1;        // of the step, for the finite difference that measures curvature
constexpr double kLeastEta = 1e-4;       // conjugate gradient tolerance for steps
constexpr double kTightEta = 1e-6;       // and for steps that decide the verdict
constexpr double kTightResidual = 1e-6;  // relative residual of the latter
constexpr int kLongRuns = 4;             // times the iteration limit of other steps

bool same(std::span<const double> a, std::span<const double> b) { return std::ranges::equal(a, b); }

}  // namespace

BlockSystem::BlockSystem(BlockModel& model, const BlockStructure& structure, SchurSolver& solver,
                         const SolverOptions& options, Gram first)
    : model_(model), structure_(structure), solver_(solver), options_(options), gram_(first) {
  model_.start_formats(options.policy());
}

void BlockSystem::begin(std::span<const double> x) {
  if (model_.bounds().any()) {
    projected_start_.assign(x.begin(), x.end());
    model_.bounds().project_start(projected_start_);
    x = projected_start_;
  }
  start_ = x;
  heavy_.reset();
  evaluate(x, at_);
  start_recheck_ = {};
  // The data that functions refer to may have changed since the previous solve.
  if (model_.carried() && model_.carries_wrongly(x, at_.r)) {
    model_.record_again(x);
    evaluate(x, at_);
  }
  start_residual_ = std::sqrt(2 * at_.model.cost);
  if (!std::isfinite(at_.model.cost) || model_.carried()) return;
  if (model_.evaluator().counts().traced == 0) {  // the residuals are those of the user's functions
    at_.cost_by_functions = at_.model.cost;
    return;
  }
  compare_with_functions(x, start_recheck_);
  if (start_recheck_.discrepancy == 0) return;
  model_.distrust("a program gave other residuals than the function itself");
  evaluate(x, at_);
  start_recheck_.discrepancy = 0;
}

double BlockSystem::scatter_at(double cost) const {
  return block_sigma(cost, structure_.residuals, structure_.tangent_size() - at_.fixed_count);
}

double BlockSystem::evaluate(std::span<const double> x, PointData& at) {
  at.x.assign(x.begin(), x.end());
  return evaluate(at);
}

double BlockSystem::evaluate(PointData& at) {
  const auto begin = Clock::now();
  at.released.clear();
  at.cost_by_functions = kNaN;
  at.has_records = false;
  at.model.cost = model_.cost(at.x, at.r);
  const double seconds = seconds_since(begin);
  time_.evaluate += seconds;
  facts_.cost_seconds += seconds;
  ++facts_.cost_evaluations;
  return at.model.cost;
}

// Switches to a wider format. Formats only get wider, so the memory of the previous one is released.
void BlockSystem::enter(Gram gram) {
  if (gram <= gram_) return;
  if (gram_ == Gram::f32_tile) solver_.release_f32();
  if (low_jacobian() && gram >= Gram::f64) model_.release_f32();
  gram_ = gram;
}

void BlockSystem::note_widened() {
  for (const BlockModel::WidenedProgram& program : model_.take_widened()) {
    PrecisionNote note;
    if (!program.component.empty()) note.components.push_back(program.component);
    const bool overflow = std::isinf(program.error);
    note.event = overflow ? Event::overflow : Event::jacobian_error;
    note.reason = overflow ? fmt::format("f32 derivatives of {} blocks leave its range", program.blocks)
                           : fmt::format("f32 derivatives of {} blocks are off by {:.1e}", program.blocks,
                                         program.error);
    notes_.push_back(std::move(note));
  }
}

// Evaluates J, unless it was `linearized` just before, and gradient and column norms in the current format.
// Returns false if some are not finite.
bool BlockSystem::gather(PointData& at, bool linearized) {
  const auto begin = Clock::now();
  const bool kept = low_jacobian() && at.has_records;
  in_format([&]<class R, class T>(R, T) {
    if (!kept && !linearized) model_.linearize<R>(at.x, at.r);
    solver_.gather<R, T>(model_.records<R>());
  });
  if (!kept && !linearized) model_.settle(at.x);
  at_.has_records = trial_.has_records = false;
  step_lambda_ = -1;
  terms_.reset();
  note_widened();
  const double seconds = seconds_since(begin);
  time_.evaluate += seconds;
  facts_.derivative_seconds += seconds;
  ++facts_.derivative_evaluations;
  held_norms_.clear();
  return all_finite(solver_.squares());
}

void BlockSystem::fix_at_bounds(PointData& at) {
  at.fixed_count = model_.bounds().any() ? model_.bounds().find_held(at.x, solver_.gradient(), at.fixed) : 0;
  for (std::size_t j = 0; j < at.released.size(); ++j) {
    if (at.released[j] == 0 || at.fixed[j] == 0) continue;
    at.fixed[j] = 0;
    --at.fixed_count;
  }
  if (at.fixed_count == 0) {
    at.has_records = low_jacobian() && gram_ == Gram::f32_tile;
    return;
  }
  Vector norms;
  column_norms(norms);
  held_norms_ = std::move(norms);
  solver_.hold(at.fixed);
  in_format([&]<class R, class T>(R, T) { model_.hold<R>(at.fixed); });
}

void BlockSystem::differentiate(PointData& at, const PrecisionPlan& plan) {
  enter(plan.gram);
  at.model.plan = {Format::f64, gram_};
  at.model.finite = std::isfinite(at.model.cost);
  if (!at.model.finite) return;
  at.model.finite = gather(at);
  while (!at.model.finite && low_jacobian() && model_.widen_unbounded()) {
    note_widened();
    at.model.finite = gather(at);
  }
  if (!at.model.finite) return;
  fix_at_bounds(at);
  const double r = std::sqrt(2 * at.model.cost);
  at.cosine = 0;
  for (std::size_t j = 0; j < solver_.squares().size(); ++j) {
    const double norm = std::sqrt(solver_.squares()[j]) * r;
    if (norm > 0) at.cosine = std::max(at.cosine, std::fabs(solver_.gradient()[j]) / norm);
  }
}

void BlockSystem::linearize(std::span<const double> x, const PrecisionPlan& plan) {
  if (!same(at_.x, x)) evaluate(x, at_);
  differentiate(at_, plan);
  known_ = true;
  derivatives_at_trial_ = false;
}

// Residuals are always in f64.
double BlockSystem::cost(std::span<const double> x, Format) {
  if (!same(trial_.x, x)) evaluate(x, trial_);
  return trial_.model.cost;
}

void BlockSystem::column_norms(Vector& out) const {
  out.resize(solver_.squares().size());
  for (std::size_t j = 0; j < out.size(); ++j) out[j] = column_norm(j);
}

// Bounds column norms from below. A column close to zero would not be damped, and the step along it would be
// unbounded (compare Ceres's min_lm_diagonal). A column that consists of rounding errors has a norm of about
// 1e-16 of the residuals' terms. With the initial damping of 1e-4, the bound keeps steps along such a column
// near the parameter's size.
void BlockSystem::prepare(std::span<const double> x, const Vector& scale) {
  const double r = kLeastColumn * std::sqrt(2 * at_.model.cost);
  scale_ = &scale;
  step_lambda_ = -1;
  if (std::ranges::none_of(scale, [&](double norm) { return norm < r; })) return;
  const std::vector<double> sizes = tangent_sizes(model_.problem(), structure_, x);
  const auto least = [&](std::size_t j) { return r / std::max(1.0, sizes[j]); };
  for (std::size_t j = 0; j < scale.size(); ++j) {
    if (!(scale[j] < least(j))) continue;
    if (scale_ == &scale) clamped_scale_ = scale;
    scale_ = &clamped_scale_;
    clamped_scale_[j] = least(j);
  }
}

void BlockSystem::set_solve_accuracy(double decrease) {
  if (decrease == 0) {
    solver_.aim(
        options_.preconditioner,
        {.eta = kTightEta, .residual = kTightResidual, .most = kLongRuns * options_.max_linear_iterations});
    step_lambda_ = -1;
    return;
  }
  // The last decrease of the cost estimates how near the end is and sets the tolerance (Eisenstat, Walker,
  // Choosing the forcing terms in an inexact Newton method, SIAM J. Sci. Comput. 17, 1996).
  const double eta =
      std::clamp(std::sqrt(std::max(decrease, 0.0)), std::min(kLeastEta, options_.eta), options_.eta);
  solver_.aim(options_.preconditioner, {.eta = eta, .residual = 1, .most = options_.max_linear_iterations});
}

// Solves into step_, unless step_ already holds this solution.
void BlockSystem::solve_damped(double lambda) {
  const double damping = lambda > 0 ? lambda : kUndamped;
  if (step_lambda_ == damping) return;
  const auto begin = Clock::now();
  ++facts_.linear_solves;
  if (heavy_rows()) solve_heavy(lambda);
  else
    in_format(
        [&]<class R, class T>(R, T) { solver_.solve<R, T>(model_.records<R>(), damping, *scale_, step_); });
  step_lambda_ = damping;
  last_solve_seconds_ = seconds_since(begin);
  time_.solve += last_solve_seconds_;
  facts_.linear_seconds += last_solve_seconds_;
  linear_iterations_ += step_.iterations;
}

void BlockSystem::solve(double lambda, Step& out) {
  solve_damped(lambda);
  predicted_ = step_.predicted;
  out.factored = step_.factored;
  out.step = step_.step;
  out.scaled_norm = step_.scaled_norm;
  out.predicted = step_.predicted;
  out.nu = step_.decrement;
  out.condition = 0;
  out.linear_iterations = step_.iterations;
  out.held.clear();
}

// Returns the largest step component relative to its parameter. It may also be relative to the standard error
// with all other parameters known, because a step far below that standard error is short enough.
double BlockSystem::undamped_size(const PointData& at, std::span<const double> step, double sigma) const {
  const std::vector<double> sizes = tangent_sizes(model_.problem(), structure_, at.x);
  const double settled = kShortOfTau * options_.tau * sigma;
  double longest = 0;
  for (std::size_t j = 0; j < step.size(); ++j) {
    if (at.fixed_count > 0 && at.fixed[j] != 0) continue;
    const double length = std::fabs(step[j]);
    if (length == 0) continue;
    const double beside_size = sizes[j] > 0 ? length / sizes[j] : 1;
    if (beside_size <= longest) continue;
    const double beside_error = settled > 0 ? options_.xtol * length * column_norm(j) / settled : 1;
    longest = std::max(longest, std::min(beside_size, beside_error));
  }
  return longest;
}

// An undamped step costs as much as a damped one. It is only computed where the damped decrement ν, which is
// never larger, is already near the threshold, or where ν can be expected to be: the model predicted the last
// decrease of the cost about as well as the decrease ν² / 2 at the threshold. (In sliding windows the next ν
// was 0.3 to 0.95 times the ν that corresponds to that error of the model.) If the undamped decrement then
// turns out to be far above the threshold, as in bundle adjustment with its weakly determined directions, ν
// must have fallen to a quarter before the next attempt.
void BlockSystem::solve_undamped(std::span<const double>, double lambda, double near, UndampedStep& out) {
  out.usable = false;
  out.condition = out.decrement = out.decrement_sigma = out.step_size = 0;
  out.held.clear();
  if (solver_.iterative() || low_jacobian() || !at_.model.finite) return;
  if (!scale_ || scale_->size() != solver_.squares().size()) return;
  const double sigma = scatter_at(at_.model.cost);
  constexpr double kTryAgain = 0.25, kExpected = 1.5;
  double damped = 0;
  const bool expected =
      std::isinf(last_unused_nu_) && std::sqrt(2 * model_error_) <= kExpected * near * sigma;
  if (!was_near_ && !expected) {
    solve_damped(lambda);
    damped = step_.decrement;
    if (!step_.factored || !(damped <= near * sigma)) return;
    if (std::isfinite(near) && damped > kTryAgain * last_unused_nu_) return;
  }
  solve_damped(0);
  was_near_ = step_.factored && step_.decrement <= near * sigma;
  if (!was_near_ && expected) damped = step_.decrement;
  last_unused_nu_ = was_near_ || damped == 0 ? kInfinity : damped;
  if (!step_.factored) return;
  out.usable = true;
  out.condition = 1;  // κ₀ is not known: a singular matrix gets the least damping with which it can be
                      // factored
  out.decrement = step_.decrement;
  out.decrement_sigma = sigma > 0 ? out.decrement / sigma : out.decrement > 0 ? kInfinity : 0;
  out.step_size = undamped_size(at_, step_.step, sigma);
  out.step = step_.step;
}

// Returns the undamped step at x if the solver's factors are still those of that step. Its damping is
// relative to D, which depends on earlier, larger columns, too, so it must be negligible beside the columns
// at x. A column of zeros counts as 1, as in column_norms(): the certificate sees that it is zero by a pivot
// that is tiny beside 1.
const BlockStep* BlockSystem::undamped_step() {
  if (heavy_rows() || solver_.iterative() || step_lambda_ != kUndamped || !step_.factored || !scale_)
    return nullptr;
  for (std::size_t j = 0; j < scale_->size(); ++j) {
    if (point().is_fixed(j)) continue;
    const double square = solver_.squares()[j] > 0 ? solver_.squares()[j] : 1;
    if (!(kUndamped * (*scale_)[j] * (*scale_)[j] <= kNegligibleDamping * square)) return nullptr;
  }
  return &step_;
}

// Adds geodesic acceleration: v becomes v + a / 2, where a comes from the second derivative along v
// (Transtrum, Machta, Sethna, Phys. Rev. E 83, 036701, eqs. 5 to 8).
double BlockSystem::accelerate(std::span<const double> x, const Vector&, Step& step, double most) {
  if (heavy_rows()) return kNaN;  // there is no factor
  const auto begin = Clock::now();
  trial_.x = Vector();
  if (!model_.moved_residuals(x, at_.r, step.step, kShortWay, trial_.r)) return kNaN;
  const double evaluated = seconds_since(begin);
  double norm = 0;
  std::vector<double> acceleration;
  in_format([&]<class R, class T>(R, T) {
    norm = solver_.accelerate<R, T>(model_.records<R>(), step.step, *scale_, 2 / kShortWay, trial_.r,
                                    acceleration);
  });
  step.linear_iterations += solver_.iterations();
  linear_iterations_ += solver_.iterations();
  time_.evaluate += evaluated;
  facts_.cost_seconds += evaluated;
  ++facts_.cost_evaluations;
  time_.solve += seconds_since(begin) - evaluated;
  const double bend = 2 * norm / step.scaled_norm;
  if (!(bend <= most)) return bend;  // higher terms of the series would be as large
  for (std::size_t j = 0; j < acceleration.size(); ++j) step.step[j] += 0.5 * acceleration[j];
  return bend;
}

bool BlockSystem::plus(std::span<const double> x, Step& step, Vector& trial, bool) {
  const bool cut = model_.plus(x, step.step, trial);
  if (!cut) return false;
  model_.bounds().shorten(x, trial, step.step);
  in_format([&]<class R, class T>(R, T) { step.predicted = model_.promised<R>(step.step); });
  return true;
}

bool BlockSystem::evaluate_widely() {
  if (!low_jacobian() || model_.all_wide()) return false;
  model_.widen_all();
  at_.has_records = trial_.has_records = false;
  return true;
}

const PointCost& BlockSystem::linearize_trial(Vector& trial, const PrecisionPlan& plan, bool) {
  if (!same(trial_.x, trial)) evaluate(trial, trial_);
  differentiate(trial_, plan);
  derivatives_at_trial_ = true;
  return trial_.model;
}

// Compares the damped decrements ν of both points, each in the metric of its own H.
bool BlockSystem::trial_gradient_falls(const Step& step, double lambda, double slack) {
  solve_damped(lambda);
  return step_.factored && step_.decrement < step.nu + slack;
}

void BlockSystem::accept_trial() {
  model_error_ = std::fabs(at_.model.cost - trial_.model.cost - predicted_);
  std::swap(at_, trial_);
  known_ = derivatives_at_trial_;
  derivatives_at_trial_ = false;
}

void BlockSystem::restore_point() {
  std::swap(at_, trial_);
  known_ = derivatives_at_trial_ = false;
}

const KernelCounters& BlockSystem::counters() const { return counters_ = model_.counters(); }

}  // namespace nlsq::inline v0
