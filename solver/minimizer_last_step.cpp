// The last step of a fit of many rows. Close to the optimum undamped steps contract: what is left after one is a small
// share θ of what was left before, and once θ·‖step‖ is below every tolerance a pass over all rows at its end would
// only see that. Newton codes of ODE solvers end so (Hairer & Wanner, Solving Ordinary Differential Equations II,
// IV.8); what a step leaves is Kantorovich's bound. Here θ is measured twice: by the last two passes over all rows, and
// by the gradient of a part of the rows at both ends of the very step.
#include "minimizer.hpp"

#include "ablation.hpp"

#include <fmt/format.h>

#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kLeastRows = 1 << 17;  // of fewer a pass costs little
constexpr std::size_t kPart = 256;           // share of the rows that both ends are evaluated on
constexpr std::size_t kLeastPart = 1 << 13;
constexpr double kMostContraction = 0.01;    // of the step before
constexpr double kMostCondition = 1e9;       // κ₀
// What θ may be larger by than it was measured: along the step before, or by a part of the rows.
constexpr double kOtherDirection = 4, kOtherRows = 10;
constexpr double kUnseen = 0.3;              // θ of rows unlike the part's, of which there may be as many as are missing
constexpr double kSameScatter = 0.1;         // error of the part's cost that is borne
constexpr double kFurthest = 10;             // times tau that the step may begin at

// What both ends of the step say of what it leaves, as a share of it: of ν₀, and of ‖D s‖.
struct Left {
  double decrement = 0, size = 0;
};

double scaled_norm(const Vector& s, const Vector& scale) {
  double squares = 0;
  for (std::size_t j = 0; j < s.size(); ++j) squares += std::pow(s[j] * scale[j], 2);
  return std::sqrt(squares);
}

Vector product(const Matrix& A, const Vector& v) {
  Vector out(v.size(), 0.0);
  for (std::size_t i = 0; i < v.size(); ++i) {
    for (std::size_t j = 0; j < v.size(); ++j) out[i] += A(i, j) * v[j];
  }
  return out;
}

// ‖1 - H⁻¹B‖ in the metric of H, by power iteration: by how much B, the part's matrix, is wrong at worst.
double missing_share(const Matrix& H, const Matrix& B, const LinearSolver& metric, const Vector& scale) {
  constexpr int kRounds = 12;
  Vector v(scale.size());
  for (std::size_t j = 0; j < v.size(); ++j) v[j] = 1 / scale[j];
  double share = 0;
  for (int round = 0; round < kRounds; ++round) {
    const Vector whole = product(H, v), part = product(B, v);
    Vector missing(v.size());
    for (std::size_t j = 0; j < v.size(); ++j) missing[j] = whole[j] - part[j];
    const double before = metric.norm_in_metric(whole), after = metric.norm_in_metric(missing);
    if (!(before > 0)) return 1;
    share = std::max(share, after / before);
    if (!(after > 0)) break;
    metric.apply_inverse(missing, v);
    for (double& x : v) x /= after;
  }
  return share;
}

std::size_t part_rows(const Evaluator& evaluator) { return std::max(kLeastPart, evaluator.residuals() / kPart); }

}  // namespace

// A pass over all rows costs far more than one over a part of them.
bool Minimizer::large() const { return evaluator_.residuals() >= kLeastRows && evaluator_.jacobian_error() == 0; }

// The first undamped step of a large fit follows the model's curvature, as a part of the rows shows it: half the
// geodesic acceleration (Transtrum, Machta, Sethna 2011). What it leaves is then of third order, beside what the
// residuals' own scatter adds.
void Minimizer::bend_last_approach() {
  constexpr double kLargest = 0.1;  // part of the step
  if (!large() || !undamped() || last_decrement_ > 0 || !step_.factored || on_bounds() || curvature_.in_use()) return;
  if (!evaluator_.second_order_part(state_.x, step_.step, part_rows(evaluator_), memory_.bend)) return;
  Vector& acceleration = memory_.acceleration;
  solver_->apply_inverse(memory_.bend, acceleration);
  double norm = 0;
  for (std::size_t j = 0; j < acceleration.size(); ++j) norm += std::pow(acceleration[j] * state_.scale[j], 2);
  if (!(std::sqrt(norm) <= kLargest * step_.scaled_norm)) return;
  for (std::size_t j = 0; j < acceleration.size(); ++j) step_.step[j] += 0.5 * acceleration[j];
}

// From x to x + s, s the undamped f64 step, where what is left then is known to be within tau and xtol. False: nothing
// is changed.
bool Minimizer::take_last_step() {
  if (!rule_active(Rule::last_step)) return false;
  if (options_.strict || last_step_failed_ || low() || low_gram() || at_->plan.gram != Gram::f64) return false;
  if (!large() || !undamped() || on_bounds()) return false;  // multipliers would need a pass of their own
  if (curvature_.in_use()) return false;  // what Gauss-Newton's step leaves is not small
  if (!(last_decrement_ > 0) || first_.condition > kMostCondition) return false;
  // Even with θ at a tenth τ would hold at the end: no more than digits of xtol depend on the part of the rows.
  if (!(first_.decrement_sigma <= kFurthest * options_.tau)) return false;
  const double contraction = first_.decrement / last_decrement_;
  // Between nearly dependent columns a step may be short in the metric of H and long in that of D.
  const double known = rule_active(Rule::last_step_by_contraction) ? kOtherDirection : 0;
  const Left before{known * contraction, known * std::max(contraction, first_.step_size / last_step_size_)};
  const auto suffices = [&](const Left& share) {
    return share.size * first_.step_size <= options_.xtol && share.decrement * first_.decrement_sigma <= options_.tau;
  };
  if (!(contraction <= kMostContraction) || !suffices(before)) return false;

  move_within(box_, state_.x, first_.step, first_.held, trial_);
  Linearization here, there;
  const std::size_t part = part_rows(evaluator_);
  if (!evaluator_.linearize_part(state_.x, part, here) || !evaluator_.linearize_part(trial_, part, there)) return false;
  if (!here.finite || !there.finite) return false;
  // It has a say only if it is like all rows, in every direction: what determines a parameter may lie elsewhere, and so
  // may residuals that bend the path.
  const std::size_t n = trial_.size();
  const LinearSolver& metric = memory_.undamped.solver;
  const double missing = missing_share(at_->normal, here.normal, metric, state_.scale);
  const bool same_cost = std::fabs(here.cost - at_->cost) <= kSameScatter * at_->cost;
  if (!same_cost && rule_active(Rule::last_step_part_has_cost_of_all)) {
    last_step_failed_ = true;
    return false;
  }
  // The linear model's gradient at the end is zero; `left` is what the part of the rows finds there instead.
  Vector left = product(here.normal, first_.step), back;
  for (std::size_t i = 0; i < n; ++i) left[i] = there.gradient[i] - here.gradient[i] - left[i];
  metric.apply_inverse(left, back);
  const double unseen = rule_active(Rule::last_step_counts_missing_share) ? kUnseen * missing : 0;
  const Left share{
      std::max({before.decrement, unseen, kOtherRows * metric.norm_in_metric(left) / first_.decrement}),
      std::max({before.size, unseen,
                kOtherRows * scaled_norm(back, state_.scale) / scaled_norm(first_.step, state_.scale)})};
  // The cost falls by ½ν₀² up to that share of it, which its own rounding must cover.
  const bool checked = rule_active(Rule::last_step_part_is_checked);
  if ((checked && !suffices(share)) || !(share.decrement * 0.5 * first_.decrement * first_.decrement <= noise())) {
    last_step_failed_ = true;
    return false;
  }
  LastStep step{first_.step_size, share.size * first_.step_size, share.decrement * first_.decrement_sigma, 0};
  for (std::size_t j = 0; j < n; ++j) {
    Vector change(n);
    for (std::size_t i = 0; i < n; ++i) change[i] = (there.normal(i, j) - here.normal(i, j)) / state_.scale[j];
    step.gram_change = std::hypot(step.gram_change, metric.norm_in_metric(change) * std::sqrt(first_.condition));
  }
  // And of rows unlike the part's, which change by as much as the parameters.
  step.gram_change = kOtherRows * (step.gram_change + missing * step.size * std::sqrt(first_.condition));
  record(StepOutcome::accepted, Event::last_step, fmt::format("{:.1e} standard errors will be left", step.left_sigma));
  last_step_ = step;
  state_.x = trial_;
  at_->cost -= 0.5 * first_.decrement * first_.decrement;
  at_->gradient = left;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) at_->normal(i, j) += there.normal(i, j) - here.normal(i, j);
  }
  solver_.reset();
  cost_f64_.reset();
  first_order(*at_, state_.x, evaluator_.residuals(), unit_sigma_, memory_.undamped, first_, room());
  return true;
}

// The certificate of a point reached by a last step says no more than is known of it. False: it is not certified, and a
// pass is made there after all.
bool Minimizer::widen_by_last_step() {
  const LastStep step = *last_step_;
  last_step_.reset();
  Certificate& c = certified_.certificate;
  if (!certified_.first_order || !at_->triangle.empty()) {
    last_step_failed_ = true;
    at_.reset();
    solver_.reset();
    return false;
  }
  c.last_step = step.size;
  c.step = std::max(c.step, step.left);
  c.decrement_sigma = std::max(c.decrement_sigma, step.left_sigma);
  c.covariance_error = std::max(c.covariance_error, step.gram_change);
  return true;
}

}  // namespace nlsq::inline v0
