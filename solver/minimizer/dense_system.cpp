// Implements DenseSystem's steps, trial points and certificate. The precision part is in dense_precision.cpp,
// the last step in dense_last_step.cpp.
#include "minimizer/dense_system.hpp"

#include "ablation.hpp"

#include "certificate/difference_errors.hpp"
#include "linear/dot.hpp"
#include "minimizer/step_rules.hpp"

#include <cmath>

namespace nlsq::inline v0 {

namespace {

// Below this work (rows * operations) a pass is too cheap to be worth saving.
constexpr double kFreeWork = 2e5;

}  // namespace

void DenseSystem::begin(Evaluator& evaluator, const DenseRequest& request) {
  evaluator_ = &evaluator;
  evaluator.extrapolate(false);  // an earlier attempt may have switched it on
  options_ = &request.options;
  unit_sigma_ = request.unit_sigma;
  extrapolates_ = request.extrapolates;
  extrapolated_ = false;
  box_ = request.box;
  at_.reset();
  trial_at_.reset();
  probe_.reset();
  undamped_.solver.share_out(*options_);
  projection_.offer({}, {}, VariableProjection::off);
  if (options_->algorithm == Algorithm::levenberg_marquardt && !request.linear.empty()) {
    projection_.offer(request.linear, box_, options_->variable_projection);
  }
  curvature_.forget();
}

// A function that computes all residuals in one call may be slow. So a user who asks for fewer digits than by
// default does not pay for more calls.
bool DenseSystem::passes_are_cheap() const {
  if (evaluator_->by_calls() && options_->xtol > SolverOptions().xtol) return false;
  return static_cast<double>(evaluator_->residuals()) * evaluator_->row_cost() < kFreeWork;
}

bool DenseSystem::forget_rough(std::span<const double> x) {
  if (!evaluator_->rough(x)) return false;
  evaluator_->renew(x);
  if (evaluator_->rough(x)) return false;  // rows that stand in for others may keep what they have
  at_.reset();
  return true;
}

double DenseSystem::scaled_size(std::span<const double> x, std::span<const double> scale) const {
  return scaled_norm(x, scale);
}

bool DenseSystem::gradient_is_noise(std::span<const double> x, const Recheck& rounding) {
  return gradient_noise(*at_, rounding.magnitude, rounding.column_magnitude, evaluator_->jacobian_error(),
                        room(x))
      .noise;
}

// Switches to extrapolated differences if the errors of J matter at x. The values f have rounding errors,
// which differences divide by their width. If y has a large offset, these errors may be far larger than
// usual: an f of size 10⁹ that varies by 1 leaves two correct digits of J. The undamped step and the
// covariance have the relative error of J times the root of the condition number. If sigmas are far below the
// residuals, errors of J are measured in units of these sigmas. Where the bound of the rounding errors is too
// large, the errors are measured, because beside an offset of x they are far smaller than the bound.
bool DenseSystem::extrapolate_rough_derivatives(std::span<const double> x, const Certificate& c,
                                                const CertificateTests& tests) {
  constexpr double kUsual = 1e-10;  // relative error of differences without such rounding errors
  constexpr double kMost = 5e-3;    // of a standard error
  const double squares = squared_error_of_differences(*evaluator_, x, *at_);
  if (squares == 0) return false;  // J is not computed by differences
  const std::size_t free = x.size() - c.at_bound.size();
  const double condition = c.rank == static_cast<int>(free) ? c.condition : 1;
  const double of_residuals = scatter(c.cost, residuals(), free, false);
  const double sigma = scatter(c.cost, residuals(), free, unit_sigma_);
  const double units = sigma > 0 ? std::max(1.0, of_residuals / sigma) : 1;
  const auto matters = [&](double rounding) {
    return std::hypot(kUsual, rounding * std::sqrt(squares)) * std::sqrt(condition) * units > kMost;
  };
  if (!matters(kUnitRoundoff * tests.magnitude)) return false;
  const MeasuredRounding measured = measure_rounding(*evaluator_, x, *at_, tests, undamped_);
  return (!measured.known() || matters(measured.residuals)) && extrapolate();
}

// Returns the distances from x to its bounds. Below f64 they end at the last float within the bounds, and
// later steps in f64 can reach the bound itself.
Box DenseSystem::room(std::span<const double> x) {
  if (box_.empty()) return {};
  below_.resize(x.size());
  above_.resize(x.size());
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double lower = box_.lower[j], upper = box_.upper[j];
    below_[j] = std::min(0.0, (low() ? on_grid(lower, lower, upper) : lower) - x[j]);
    above_[j] = std::max(0.0, (low() ? on_grid(upper, lower, upper) : upper) - x[j]);
  }
  return {below_, above_};
}

void DenseSystem::prepare(std::span<const double> x, const Vector& scale) {
  probe_.reset();
  if (low() || at_->plan.gram < Gram::f64) {
    probe_ = evaluator_->probe(x, at_->plan);
    correct_gradient(scale);
  }
  const Box around = room(x);
  solver_.renew().set(*at_, scale);
  solver_->share_out(*options_);
  if (curvature_.in_use()) {
    if (at_->triangle.empty()) solver_->add_to_normal(curvature_.matrix());
    else curvature_.forget();
  }
  solver_->keep_within(around);
  if (projection_.active()) solver_->weigh_damping(projection_.weigh_damping(*at_));
}

void DenseSystem::solve_undamped(std::span<const double> x, double, double, UndampedStep& out) {
  nlsq::undamped_step(*at_, x, residuals(), unit_sigma_, undamped_, out, room(x));
}

double DenseSystem::gradient_left(const Step& step) const {
  return step.held.empty() ? solver_->norm_in_metric(at_->gradient) : step.nu;
}

double DenseSystem::accelerate(std::span<const double> x, const Vector& scale, Step& step, double most) {
  constexpr double kStep = 0.1;
  evaluator_->second_order_into(x, step.step, kStep, work_);
  return add_acceleration(scale, step, most);
}

// Adds half the geodesic acceleration -(H+λD²)⁻¹ Jᵀ r_vv (Transtrum, Machta, Sethna) to the step if it is
// small beside it. Jᵀ r_vv is in work_.
double DenseSystem::add_acceleration(const Vector& scale, Step& step, double most) {
  solver_->apply_inverse(work_, acceleration_);
  const double bend = 2 * scaled_norm(acceleration_, scale);
  for (std::size_t j = 0; bend <= most * step.scaled_norm && j < acceleration_.size(); ++j)
    step.step[j] += 0.5 * acceleration_[j];
  return bend / step.scaled_norm;
}

// Puts the parameters on the f32 grid. Otherwise their own rounding would shift all f32 residuals coherently.
void DenseSystem::round_to_grid(Vector& trial) const {
  if (!low() || !rule_active(Rule::parameters_on_f32_grid)) return;
  for (std::size_t j = 0; j < trial.size(); ++j) {
    trial[j] = box_.empty() ? static_cast<double>(static_cast<float>(trial[j]))
                            : on_grid(trial[j], box_.lower[j], box_.upper[j]);
  }
}

bool DenseSystem::plus(std::span<const double> x, Step& step, Vector& trial, bool exact) {
  move_within(box_, x, step.step, step.held, trial);
  if (!exact) round_to_grid(trial);
  return false;
}

const PointCost& DenseSystem::linearize_trial(Vector& trial, const PrecisionPlan& plan, bool damped) {
  evaluator_->linearize_into(trial, plan, trial_at_.renew());
  if (damped && projection_.active() && trial_at_->finite) project_trial(trial, plan);
  return *trial_at_;
}

// Moves the eliminated parameters of the trial point to their optimum for the other parameters. The step has
// already moved them to the optimum of the linear model, which gives the same result where that model is
// good. So this function makes another pass only if the gain is a noticeable part of the step's own decrease.
void DenseSystem::project_trial(Vector& trial, const PrecisionPlan& plan) {
  constexpr double kWorth = 0.1;
  better_ = trial;
  const double gain = projection_.solve(*trial_at_, better_), decrease = at_->cost - trial_at_->cost + gain;
  if (!(decrease > 0 && gain > kWorth * decrease)) return;
  trial.swap(better_);
  round_to_grid(trial);
  Kept<Linearization>& before = other_trial_at_;
  before.swap(trial_at_);
  evaluator_->linearize_into(trial, plan, trial_at_.renew());
  if (trial_at_->finite && trial_at_->cost <= before->cost) return;
  // The second pass did not lower the cost, because of its few digits or of rounding.
  trial.swap(better_);
  trial_at_.swap(before);
}

bool DenseSystem::trial_gradient_falls(const Step& step, double, double slack) {
  return solver_->norm_in_metric(trial_at_->gradient) < gradient_left(step) + slack;
}

double DenseSystem::gain_by_gradients(std::span<const double> x, std::span<const double> trial,
                                      const Step& step) const {
  double before = 0, after = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    before += at_->gradient[j] * (trial[j] - x[j]);
    after += trial_at_->gradient[j] * (trial[j] - x[j]);
  }
  return rules::gain_by_slopes(before, after, step.predicted);
}

void DenseSystem::accept_trial() {
  at_.swap(trial_at_);
  trial_at_.reset();
}

void DenseSystem::restore_point() {
  at_.swap(trial_at_);
  at_.renew();
  trial_at_.reset();
}

// The curvature of the residuals is used only for steps of hard fits. If each point costs several calls of
// the user's code, a fit counts as hard much earlier.
bool DenseSystem::curvature_counts(int accepted) const {
  constexpr int kHardByCalls = 3;  // accepted steps
  // With more parameters, the steps do not cover enough directions to learn S in time.
  constexpr std::size_t kMostParameters = 64;
  const int hard = evaluator_->by_calls() ? kHardByCalls : rules::kHardFit;
  return accepted >= hard && options_->algorithm == Algorithm::levenberg_marquardt &&
         parameters() <= kMostParameters && at_->triangle.empty();
}

// Lets the model learn from a tried step. Is called after each trial, before x moves.
bool DenseSystem::learn(const TriedStep& tried) {
  if (!curvature_counts(tried.accepted_before)) {
    curvature_.forget();
    return false;
  }
  const std::size_t n = tried.trial.size();
  if (!tried.factored || std::equal(tried.trial.begin(), tried.trial.end(), tried.x.begin()))
    return false;  // no step was tried
  Vector& d = work_;
  d.resize(n);
  for (std::size_t j = 0; j < n; ++j) d[j] = tried.trial[j] - tried.x[j];
  const bool fast = tried.accepted && tried.decrease > rules::kFastDecrease * at_->cost;
  const bool another = std::isfinite(tried.trial_cost) && !(fast && !curvature_.in_use()) &&
                       curvature_.choose(*at_, d, tried.decrease);
  if (tried.accepted && trial_at_->plan == at_->plan) curvature_.learn(*at_, *trial_at_, d);
  return another;
}

// Checks for underflow by sums of squares over all rows. The rows of a recheck might contain only the tails
// of some columns.
bool DenseSystem::squares_underflow() const {
  constexpr double kSafe = 0x1p-1000;
  bool found = !(at_->cost > kSafe);
  for (std::size_t j = 0; j < at_->gradient.size(); ++j) found = found || !(at_->normal(j, j) > kSafe);
  return found;
}

void DenseSystem::recheck(std::span<const double> x, std::size_t rows, Recheck& out) {
  evaluator_->recheck_into(x, rows, out);
  out.underflow = out.underflow && squares_underflow();
}

double DenseSystem::error_by_differences(const Certificate& c) const {
  return nlsq::error_by_differences(*at_, c, residuals());
}

void DenseSystem::certify(std::span<const double> x, const CertificateTests& asked, Certified& out) {
  CertificateTests tests = asked;
  tests.unit_sigma = unit_sigma_;
  nlsq::certify(*evaluator_, x, *at_, tests, undamped_, out);
  Certificate& c = out.certificate;
  const double error = error_by_differences(c);
  if (!(error > c.covariance_error)) return;
  c.covariance_error = error;
  if (error > kStandardErrorsUnknown) out.covariance = Matrix(x.size(), x.size(), kNaN);
}

std::optional<PointCost> DenseSystem::gradient_trial(std::span<const double> trial) {
  trial_at_.reset();
  if (!evaluator_->gradient_into(trial, gradient_at_)) return std::nullopt;
  return gradient_at_;
}

void DenseSystem::accept_gradient() {
  at_->cost = gradient_at_.cost;
  at_->gradient.swap(gradient_at_.gradient);
  at_->plan.residual = Format::f64;
}

void DenseSystem::solve_with_gram_kept(const Vector& scale, Step& step) {
  solver_->apply_inverse(at_->gradient, step.step);
  step.scaled_norm = scaled_norm(step.step, scale);
}

}  // namespace nlsq::inline v0
