// Large residuals: where Gauss-Newton's model promises badly, the curvature of the residuals belongs to it.
#include "minimizer.hpp"

#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr int kHardFit = 10;          // steps accepted after which a fit is taken for a hard one
constexpr double kFastDecrease = 0.2; // of the cost, by one step: Gauss-Newton does well (Fletcher and Xu, IMA J. Numer. Anal. 7, 1987)
constexpr int kMostParameters = 64;   // directions that steps may learn from in time

}  // namespace

// Of damped steps without bounds, within which a model has to have one minimum.
bool Minimizer::curvature_counts() const {
  return summary_.accepted >= kHardFit && options_.algorithm == Algorithm::levenberg_marquardt && box_.empty() &&
         evaluator_.parameters() <= kMostParameters && at_->triangle.empty();
}

// After a trial, before x moves.
void Minimizer::weigh_curvature(bool accepted) {
  if (!curvature_counts()) return curvature_.forget();
  if (!step_.factored || trial_ == state_.x) return;  // nothing was tried
  Vector& d = memory_.bend;
  d.resize(trial_.size());
  for (std::size_t j = 0; j < d.size(); ++j) d[j] = trial_[j] - state_.x[j];
  const bool fast = accepted && decrease_ > kFastDecrease * at_->cost;
  if (std::isfinite(trial_cost_) && !(fast && !curvature_.in_use()) && curvature_.choose(*at_, d, decrease_)) solver_.reset();
  if (accepted && trial_at_->plan == at_->plan) curvature_.learn(*at_, *trial_at_, d);
}

void Minimizer::add_curvature() {
  if (!curvature_.in_use()) return;
  if (at_->triangle.empty()) solver_->add_to_normal(curvature_.matrix());
  else curvature_.forget();
}

// The least damping, by factors of 4, that makes a minimum of the model with the curvature. Parameters that are eliminated are
// not damped: where none does, JᵀJ alone is the model.
void Minimizer::damp_negative_curvature() {
  constexpr double kMost = 1e8;
  while (curvature_.in_use() && !step_.factored && trust_.lambda() < kMost) {
    trust_.restore(std::fmax(4 * trust_.lambda(), 1e-6));
    solver_->solve(trust_.lambda(), step_);
  }
  if (!curvature_.in_use() || step_.factored) return;
  curvature_.forget();
  trust_.restore(streak_lambda_);
  solver_.reset();
  know();
  solve_step(trust_.lambda());
}

}  // namespace nlsq::inline v0
