// The end of a fit of many parameters. A gradient in f64 costs a small part of a pass with its Gram matrix, and the
// gradient alone says where the end is: so from the last point below f64 on steps are made with the Gram matrix of that
// point and gradients in f64, and only where they lead to is a Gram matrix of f64 formed, which the certificate needs. The
// matrix kept is a modified Newton method's: each step leaves a share of the distance that its error, and the model's
// curvature, make (Kelley, Iterative Methods for Linear and Nonlinear Equations, section 5.4).
#include "minimizer.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kGradientShare = 0.25;  // of a pass that a gradient may cost
constexpr double kMostGradients = 0.5;   // of a pass that all of them together may
constexpr double kSlow = 0.5;            // of the distance: a step that leaves more ends this
constexpr double kMargin = 4;            // what a step may leave more than the one before did

}  // namespace

// The parameters are so many that products are what a pass costs.
bool Minimizer::gradients_are_cheap() const {
  return evaluator_.gradient_work() <= kGradientShare * evaluator_.pass_work({Format::f64, Gram::f64});
}

bool Minimizer::gram_worth_keeping() const { return undamped() && box_.empty() && step_.factored && gradients_are_cheap(); }

// The step by the matrix kept and the gradient in at_, as step_ and trial_. Its relative size.
double Minimizer::propose_with_gram_kept() {
  solver_->apply_inverse(at_->gradient, step_.step);
  double squares = 0;
  for (std::size_t j = 0; j < state_.x.size(); ++j) {
    squares += std::pow(step_.step[j] * state_.scale[j], 2);
    trial_[j] = state_.x[j] + step_.step[j];
  }
  step_.scaled_norm = std::sqrt(squares);
  return step_.scaled_norm / scaled_size();
}

// Takes the finishing step and those after it, until a pass in `plan` is due at state_.x or has been made there. False: the
// first did not help, and nothing is changed.
bool Minimizer::finish_with_gram_kept(const PrecisionPlan& plan) {
  const double most = kMostGradients * evaluator_.pass_work({Format::f64, Gram::f64}) / evaluator_.gradient_work();
  const int kept_from = state_.iteration;
  propose();
  Linearization there;
  double before = gradient_left() + health_.gradient_noise;
  std::string reason = fmt::format("{:.1e} standard errors from the optimum", first_.decrement_sigma);
  rho_ = kNaN;
  bool moved = false, known = false;
  for (int made = 0; !known;) {
    if (!evaluator_.gradient_into(trial_, there)) return moved;
    const double after = there.finite ? solver_->norm_in_metric(there.gradient) : kNaN;
    if (!(after < (moved ? kSlow : 1) * before)) break;
    record(StepOutcome::accepted, moved ? Event::none : Event::finishing, std::move(reason));
    state_.x = trial_;
    at_->cost = there.cost;
    at_->gradient.swap(there.gradient);
    at_->plan = {Format::f64, at_->plan.gram};
    const double share = moved ? after / before : 1;
    before = step_.nu = after;
    moved = true;
    const double size = propose_with_gram_kept(), sigma = scatter(at_->cost, evaluator_.residuals(), state_.x.size(), unit_sigma_);
    const auto within = [&](double left) { return left * size <= options_.xtol && left * after <= options_.tau * sigma; };
    if (within(kMargin) || trial_ == state_.x || budget_spent() || ++made >= most) break;
    reason = fmt::format("{:.1e} standard errors from the optimum, by the normal matrix of iteration {}", sigma > 0 ? after / sigma : kNaN, kept_from);
    if (!within(kMargin * share)) continue;
    // This step is the last: what the certificate needs is formed at its end.
    there = evaluator_.linearize(trial_, plan);
    if (!there.finite || !(solver_->norm_in_metric(there.gradient) < before)) break;
    record(StepOutcome::accepted, Event::none, std::move(reason));
    state_.x = trial_;
    known = true;
  }
  if (!moved) return false;
  ++summary_.precision.escalations;
  last_decrement_ = 0;  // of no step in f64
  state_.plan = plan;
  if (known) at_.renew() = std::move(there);
  else at_.reset();
  solver_.reset();
  cost_f64_.reset();
  streak_lambda_ = trust_.lambda();
  last_accepted_ = true;
  return true;
}

}  // namespace nlsq::inline v0
