// Takes the last step of a fit with many rows without a pass at its end. Close to the optimum undamped steps
// contract: each leaves a small share θ of the distance before it. Once θ·‖step‖ is below every tolerance, a
// pass over all rows at the end would only confirm that. ODE solvers end their Newton iterations this way
// (Hairer & Wanner, Solving Ordinary Differential Equations II, IV.8); Kantorovich's theorem bounds what a
// step leaves. Here θ is measured twice: from the last two passes over all rows, and from the gradient of a
// part of the rows at both ends of this step.
#include "ablation.hpp"
#include "linear/dot.hpp"
#include "minimizer/dense_system.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kLeastRows = 1 << 17;  // with fewer rows a pass costs little
constexpr std::size_t kPart = 256;           // 1 / share of the rows that both ends are evaluated on
constexpr std::size_t kLeastPart = 1 << 13;
constexpr double kMostContraction = 0.01;  // largest accepted θ from the previous step
constexpr double kMostCondition = 1e9;     // largest accepted κ₀
// Safety factors on θ: it was measured along the previous step, and on a part of the rows.
constexpr double kOtherDirection = 4, kOtherRows = 10;
// θ assumed for rows that differ from the part's. The missing share is the largest share of such rows.
constexpr double kUnseen = 0.3;
constexpr double kSameScatter = 0.1;  // tolerated relative error of the part's cost
constexpr double kFurthest = 10;      // the step may begin at most this many times tau away

// Holds the distance that the step leaves, as a share of ν₀ and of ‖D s‖.
struct Left {
  double decrement = 0, size = 0;
};

Vector product(const Matrix& A, const Vector& v) {
  Vector out(v.size(), 0.0);
  for (std::size_t i = 0; i < v.size(); ++i) {
    for (std::size_t j = 0; j < v.size(); ++j) out[i] += A(i, j) * v[j];
  }
  return out;
}

// Returns ‖1 - H⁻¹B‖ in the metric of H, by power iteration: the largest relative error of B, the matrix of
// the part of the rows.
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

std::size_t part_rows(const Evaluator& evaluator) {
  return std::max(kLeastPart, evaluator.residuals() / kPart);
}

}  // namespace

// Returns true if a pass over all rows costs far more than one over a part of them.
bool DenseSystem::large() const {
  return evaluator_->residuals() >= kLeastRows && evaluator_->jacobian_error() == 0;
}

// Corrects the first undamped step of a large fit for the model's curvature, by half the geodesic
// acceleration (Transtrum, Machta, Sethna 2011) on a part of the rows. The step then leaves a distance of
// third order, plus what the spread of the residuals adds.
void DenseSystem::correct_undamped_step(std::span<const double> x, const Approach& approach, Step& step) {
  constexpr double kMostBend = 0.2;  // the acceleration is at most a tenth of the step
  const bool on_bounds = !step.held.empty() || !approach.undamped_step.held.empty();
  if (!large() || approach.last_decrement > 0 || !step.factored || on_bounds || curvature_.in_use()) return;
  if (evaluator_->second_order_part(x, step.step, part_rows(*evaluator_), work_))
    add_acceleration(approach.scale, step, kMostBend);
}

// Builds the trial's linearization from the one at x and the change seen on a part of the rows.
std::optional<LastStep> DenseSystem::last_step(std::span<const double> x, const Approach& approach,
                                               double tau, double xtol, Vector& trial, bool& not_again) {
  const UndampedStep& s0 = approach.undamped_step;
  if (!rule_active(Rule::last_step)) return std::nullopt;
  // the residuals are large, so a Gauss-Newton step leaves too much
  if (!large() || curvature_.in_use()) return std::nullopt;
  if (!(approach.last_decrement > 0) || s0.condition > kMostCondition) return std::nullopt;
  // Even if θ were a tenth, the distance at the end would be below τ. So the part of the rows only decides
  // whether the digits of xtol are reached.
  if (!(s0.decrement_sigma <= kFurthest * tau)) return std::nullopt;
  const double contraction = s0.decrement / approach.last_decrement;
  // With nearly dependent columns, a step may be short in the metric of H and long in that of D.
  const double direction = rule_active(Rule::last_step_by_contraction) ? kOtherDirection : 0;
  const Left before{direction * contraction,
                    direction * std::max(contraction, s0.step_size / approach.last_step_size)};
  const auto suffices = [&](const Left& share) {
    return share.size * s0.step_size <= xtol && share.decrement * s0.decrement_sigma <= tau;
  };
  if (!(contraction <= kMostContraction) || !suffices(before)) return std::nullopt;

  move_within(box_, x, s0.step, s0.held, trial);
  Linearization here, there;
  const std::size_t part = part_rows(*evaluator_);
  if (!evaluator_->linearize_part(x, part, here) || !evaluator_->linearize_part(trial, part, there))
    return std::nullopt;
  if (!here.finite || !there.finite) return std::nullopt;
  // The part is used only if its matrix resembles that of all rows in every direction. Otherwise the rows
  // that determine a parameter, or residuals that make the model curved, may be missing in it.
  const std::size_t n = trial.size();
  const LinearSolver& metric = undamped_.solver;
  const Vector& scale = approach.scale;
  const double missing = missing_share(at_->normal, here.normal, metric, scale);
  not_again = true;
  const bool same_cost = std::fabs(here.cost - at_->cost) <= kSameScatter * at_->cost;
  if (!same_cost && rule_active(Rule::last_step_part_has_cost_of_all)) return std::nullopt;
  // In the linear model the gradient at the end is zero. `left` is the gradient there by the part of the
  // rows.
  Vector left = product(here.normal, s0.step), back;
  for (std::size_t i = 0; i < n; ++i) left[i] = there.gradient[i] - here.gradient[i] - left[i];
  metric.apply_inverse(left, back);
  const double unseen = rule_active(Rule::last_step_counts_missing_share) ? kUnseen * missing : 0;
  const Left share{
      std::max({before.decrement, unseen, kOtherRows * metric.norm_in_metric(left) / s0.decrement}),
      std::max({before.size, unseen, kOtherRows * scaled_norm(back, scale) / scaled_norm(s0.step, scale)})};
  // The step lowers the cost by ½ν₀², with a relative error of that share. The rounding error of the cost
  // must exceed this error.
  const bool checked = rule_active(Rule::last_step_part_is_checked);
  const bool lost_in_noise = share.decrement * 0.5 * s0.decrement * s0.decrement <= approach.cost_noise;
  if ((checked && !suffices(share)) || !lost_in_noise) return std::nullopt;
  not_again = false;
  LastStep step{s0.step_size, share.size * s0.step_size, share.decrement * s0.decrement_sigma, 0};
  for (std::size_t j = 0; j < n; ++j) {
    Vector change(n);
    for (std::size_t i = 0; i < n; ++i) change[i] = (there.normal(i, j) - here.normal(i, j)) / scale[j];
    step.gram_change = std::hypot(step.gram_change, metric.norm_in_metric(change) * std::sqrt(s0.condition));
  }
  // Adds the effect of rows that differ from the part's. They change as much as the parameters do.
  step.gram_change = kOtherRows * (step.gram_change + missing * step.size * std::sqrt(s0.condition));
  Linearization& end = trial_at_.renew();
  end = *at_;
  end.cost -= 0.5 * s0.decrement * s0.decrement;
  end.gradient = left;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) end.normal(i, j) += there.normal(i, j) - here.normal(i, j);
  }
  return step;
}

}  // namespace nlsq::inline v0
