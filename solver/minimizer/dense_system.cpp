#include "minimizer/dense_system.hpp"

#include "ablation.hpp"

#include "kernels/kernel_table.hpp"

#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

namespace {

constexpr double kFreeWork = 2e5;  // rows * operations below which a pass costs nothing worth saving

}  // namespace

void DenseSystem::begin(Evaluator& evaluator, const DenseRequest& request) {
  evaluator_ = &evaluator;
  options_ = &request.options;
  unit_sigma_ = request.unit_sigma;
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

bool DenseSystem::passes_are_free() const {
  return static_cast<double>(evaluator_->residuals()) * evaluator_->row_cost() < kFreeWork;
}

double DenseSystem::scaled_size(std::span<const double> x, std::span<const double> scale) const {
  double squares = 0;
  for (std::size_t j = 0; j < x.size(); ++j) squares += std::pow(x[j] * scale[j], 2);
  return std::sqrt(squares);
}

bool DenseSystem::gradient_is_noise(std::span<const double> x, const Recheck& rounding) {
  return gradient_noise(*at_, rounding.magnitude, rounding.column_magnitude, evaluator_->jacobian_error(),
                        room(x))
      .noise;
}

// How far parameters may go: below f64 to the last float within the bounds, from where f64 goes on to the
// bound itself.
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

void DenseSystem::prepare(std::span<const double> x, const Vector& scale, const PrecisionPolicy& policy) {
  const Box around = room(x);
  solver_.renew().set(*at_, scale);
  solver_->share_out(*options_);
  if (curvature_.in_use()) {
    if (at_->triangle.empty()) solver_->add_to_normal(curvature_.matrix());
    else curvature_.forget();
  }
  solver_->keep_within(around);
  if (projection_.active()) solver_->weigh_damping(projection_.weigh_damping(*at_));
  probe_.reset();
  if (low() || at_->plan.gram < Gram::f64) probe_ = evaluator_->probe(x, at_->plan, format_below(policy));
}

void DenseSystem::first_order(std::span<const double> x, double, double, FirstOrder& out) {
  nlsq::first_order(*at_, x, residuals(), unit_sigma_, undamped_, out, room(x));
}

double DenseSystem::gradient_left(const Step& step) const {
  return step.held.empty() ? solver_->norm_in_metric(at_->gradient) : step.nu;
}

// Transtrum, Machta, Sethna: half the acceleration -(H+λD²)⁻¹ Jᵀ r_vv, if it is the smaller part of the path.
double DenseSystem::accelerate(std::span<const double> x, const Vector& scale, Step& step, double most) {
  constexpr double kStep = 0.1;
  evaluator_->second_order_into(x, step.step, kStep, work_);
  solver_->apply_inverse(work_, acceleration_);
  double norm = 0;
  for (std::size_t j = 0; j < acceleration_.size(); ++j) norm += std::pow(acceleration_[j] * scale[j], 2);
  const double bend = 2 * std::sqrt(norm);
  if (!(bend <= most * step.scaled_norm)) return bend / step.scaled_norm;
  for (std::size_t j = 0; j < acceleration_.size(); ++j) step.step[j] += 0.5 * acceleration_[j];
  return bend / step.scaled_norm;
}

// On the f32 grid the parameters' own rounding cannot disturb f32 residuals coherently.
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

const PointModel& DenseSystem::linearize_trial(Vector& trial, const PrecisionPlan& plan, bool damped) {
  evaluator_->linearize_into(trial, plan, trial_at_.renew());
  if (damped && projection_.active() && trial_at_->finite) project_trial(trial, plan);
  return *trial_at_;
}

// The trial point with its eliminated parameters at their best for the others there. The step has moved them
// to where the linear model has them, which is as good where it is good: another pass is worth a gain that is
// a part of the step's own.
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
  trial.swap(better_);  // the fewer digits, or rounding
  trial_at_.swap(before);
}

bool DenseSystem::trial_gradient_falls(const Step& step, double, double slack) {
  return solver_->norm_in_metric(trial_at_->gradient) < gradient_left(step) + slack;
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

// Curvature belongs to damped steps without bounds, within which a model has to have one minimum, of hard
// fits.
bool DenseSystem::curvature_counts(int accepted) const {
  constexpr int kHardFit = 10;                 // steps accepted
  constexpr std::size_t kMostParameters = 64;  // directions that steps may learn from in time
  return accepted >= kHardFit && options_->algorithm == Algorithm::levenberg_marquardt && box_.empty() &&
         parameters() <= kMostParameters && at_->triangle.empty();
}

// After a trial, before x moves.
bool DenseSystem::learn(const TriedStep& tried) {
  // Of the cost, by one step: Gauss-Newton does well (Fletcher and Xu, IMA J. Numer. Anal. 7, 1987).
  constexpr double kFastDecrease = 0.2;
  if (!curvature_counts(tried.accepted_before)) {
    curvature_.forget();
    return false;
  }
  const std::size_t n = tried.trial.size();
  if (!tried.factored || std::equal(tried.trial.begin(), tried.trial.end(), tried.x.begin()))
    return false;  // nothing was tried
  Vector& d = work_;
  d.resize(n);
  for (std::size_t j = 0; j < n; ++j) d[j] = tried.trial[j] - tried.x[j];
  const bool fast = tried.accepted && tried.decrease > kFastDecrease * at_->cost;
  const bool another = std::isfinite(tried.trial_cost) && !(fast && !curvature_.in_use()) &&
                       curvature_.choose(*at_, d, tried.decrease);
  if (tried.accepted && trial_at_->plan == at_->plan) curvature_.learn(*at_, *trial_at_, d);
  return another;
}

// Whether sums of squares over all rows say so, too: of some columns a part of the rows may see nothing but
// their tails.
bool DenseSystem::squares_underflow() const {
  constexpr double kSafe = 0x1p-1000;
  bool found = !(at_->cost > kSafe);
  for (std::size_t j = 0; j < at_->gradient.size(); ++j) found = found || !(at_->normal(j, j) > kSafe);
  return found;
}

void DenseSystem::certify(std::span<const double> x, const CertificateTests& asked, Certified& out) {
  CertificateTests tests = asked;
  tests.unit_sigma = unit_sigma_;
  nlsq::certify(*evaluator_, x, *at_, tests, undamped_, out);
}

std::optional<PointModel> DenseSystem::gradient_trial(std::span<const double> trial) {
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
  double squares = 0;
  for (std::size_t j = 0; j < step.step.size(); ++j) squares += std::pow(step.step[j] * scale[j], 2);
  step.scaled_norm = std::sqrt(squares);
}

}  // namespace nlsq::inline v0
