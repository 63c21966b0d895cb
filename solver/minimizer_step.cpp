// One step: proposed, judged, settled.
#include "minimizer.hpp"

#include "ablation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kU = 0x1p-53;
constexpr int kHardFit = 10;        // iterations after which a fit is taken for a hard one
constexpr double kAccept = 1e-4;    // least gain ratio, f64
constexpr double kWild = 1e8;       // times x, and times the residuals, that no step leads that the data determine

}  // namespace

// By damping alone, or drawn back to the radius: 100 times ‖D x‖ at first (Moré 1978), or the whole first step from x = 0.
void Minimizer::solve_step(double lambda) {
  solver_->solve(lambda, step_);
  if (options_.algorithm != Algorithm::dogleg || !step_.factored) return;
  if (!trust_.by_radius()) {
    const double size = 100 * scaled_size(), radius = size > 0 ? size : step_.scaled_norm;
    if (radius > 0) trust_.start_radius(radius);
  }
  if (!undamped() && trust_.by_radius()) solver_->draw_back(trust_.radius(), step_);
}

void Minimizer::propose() {
  const bool hard = options_.geodesic == Geodesic::automatic && state_.iteration - first_iteration_ >= kHardFit;
  // It takes rows in f64, of f32's speed no more than many parameters' products leave to be saved.
  const bool affordable = !low() || (gradients_are_cheap() && at_->plan.gram >= Gram::f32_wide);
  if ((geodesic_ || hard) && !trust_.by_radius() && affordable && step_.factored && !undamped() && !curvature_.in_use()) {
    add_acceleration();
  }
  bend_last_approach();
  move_within(box_, state_.x, step_.step, step_.held, trial_);
}

// On the f32 grid the parameters' own rounding cannot disturb f32 residuals coherently.
void Minimizer::round_trial() {
  if (!low() || !rule_active(Rule::parameters_on_f32_grid)) return;
  for (std::size_t j = 0; j < trial_.size(); ++j) {
    trial_[j] = box_.empty() ? static_cast<double>(static_cast<float>(trial_[j])) : on_grid(trial_[j], box_.lower[j], box_.upper[j]);
  }
}

// Transtrum, Machta, Sethna: half the acceleration -(H+λD²)⁻¹ Jᵀ r_vv, if it is the smaller part of the path.
void Minimizer::add_acceleration() {
  constexpr double kStep = 0.1, kLargest = 0.75;
  evaluator_.second_order_into(state_.x, step_.step, kStep, memory_.bend);
  Vector& acceleration = memory_.acceleration;
  solver_->apply_inverse(memory_.bend, acceleration);
  double norm = 0;
  for (std::size_t j = 0; j < acceleration.size(); ++j) norm += std::pow(acceleration[j] * state_.scale[j], 2);
  if (!(2 * std::sqrt(norm) <= kLargest * step_.scaled_norm)) return;
  for (std::size_t j = 0; j < acceleration.size(); ++j) step_.step[j] += 0.5 * acceleration[j];
}

// Noise of a cost in f64: Σ|r_i||δr_i| with δr_i a few roundings of the terms r_i is made of. Row by row: one of
// huge weight, fitted exactly, must not hide what a step does to all others.
double Minimizer::noise() const {
  return 4 * kU * (cost_magnitude_ * std::sqrt(2 * at_->cost) + 2 * at_->cost);
}

// Whether a pass that asks for the cost alone, before the one with the Gram matrix, has paid so far. That pass costs no more
// than a gradient; where parameters are few that is too much for it to pay.
bool Minimizer::worth_asking_cost_first() const {
  if (first_rejected_ == 0 || !gradients_are_cheap()) return false;
  const double ask = evaluator_.gradient_work(), pass = evaluator_.pass_work(state_.plan);
  return first_rejected_ * (pass - ask) > first_accepted_ * ask;
}

void Minimizer::judge() {
  round_trial();
  trial_at_.reset();
  rho_ = kNaN;
  // (Undamped, along a direction that the data do not determine: what costs and gradients say out there is rounding.)
  const bool wild = undamped() && step_.scaled_norm > kWild * std::max(scaled_size(), std::sqrt(2 * at_->cost));
  if (trial_ == state_.x || !step_.factored || wild) {
    judgement_ = Judgement::reject;
    stalled_ = trial_ == state_.x;
    return;
  }
  // After a good step the next is likely to be good too: cost and linearization in one pass. With linear parameters
  // eliminated it takes the linearization to know the cost.
  if ((last_accepted_ && !worth_asking_cost_first()) || projection_.active()) {
    evaluator_.linearize_into(trial_, state_.plan, trial_at_.renew());
    if (projection_.active()) project_trial();
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
  if (!rule_active(Rule::undecided_steps_are_judged_in_f64)) {
    judgement_ = Judgement::reject;
    return;
  }
  if (!cost_f64_) cost_f64_ = evaluator_.cost(state_.x, Format::f64).cost;
  const double after = evaluator_.cost(trial_, Format::f64).cost;
  if (!judge_costs(*cost_f64_, after, noise())) {
    judgement_ = Judgement::reject;
    stalled_ = true;
  }
}

// The trial point with its eliminated parameters at their best for the others there. The step has moved them to where the
// linear model has them, which is as good where it is good: another pass is worth a gain that is a part of the step's own.
void Minimizer::project_trial() {
  constexpr double kWorth = 0.1;
  if (!trial_at_->finite || undamped()) return;
  Vector& better = memory_.better;
  better = trial_;
  const double gain = projection_.solve(*trial_at_, better), decrease = at_->cost - trial_at_->cost + gain;
  if (!(decrease > 0 && gain > kWorth * decrease)) return;
  trial_.swap(better);
  round_trial();
  Kept<Linearization>& before = memory_.other_trial_at;
  before.swap(trial_at_);
  evaluator_.linearize_into(trial_, state_.plan, trial_at_.renew());
  if (trial_at_->finite && trial_at_->cost <= before->cost) return;
  trial_.swap(better);  // the fewer digits, or rounding
  trial_at_.swap(before);
}

// The three-valued gain ratio. False: undecided, the noise covers the difference.
bool Minimizer::judge_costs(double before, double after, double noise) {
  const bool demanding = low() && rule_active(Rule::gain_ratio_below_f64);
  const double least = (demanding ? options_.policy().thresholds.gain_ratio : kAccept) * step_.predicted;
  decrease_ = before - after;
  rho_ = decrease_ / step_.predicted;
  judgement_ = Judgement::undecided;
  if (decrease_ - noise >= least) judgement_ = Judgement::accept;
  else if (decrease_ + noise < least || !std::isfinite(after)) judgement_ = falls_from_reference(after, noise) ? Judgement::accept : Judgement::reject;
  return judgement_ != Judgement::undecided;
}

// The cost may have risen, and still be below the reference point's by enough of what was promised since.
bool Minimizer::falls_from_reference(double after, double noise) {
  if (!nonmonotonic_.on() || low()) return false;
  if (!nonmonotonic_.started()) nonmonotonic_.start(at_->cost);
  const double decrease = nonmonotonic_.decrease(after), promised = nonmonotonic_.promised(step_.predicted);
  if (!(decrease - noise >= kAccept * promised)) return false;
  rho_ = std::fmax(rho_, decrease / promised);
  return true;
}

// What the step is to do away with: the gradient in the metric of H, where bounds hold parameters ν, which has in it what
// is gained by going to those bounds.
double Minimizer::gradient_left() const {
  return step_.held.empty() ? solver_->norm_in_metric(at_->gradient) : step_.nu;
}

// Near the optimum cost differences drown in rounding while the gradient still speaks: accept iff it
// falls in the metric of H.
void Minimizer::judge_by_gradient() {
  if (!trial_at_) evaluator_.linearize_into(trial_, state_.plan, trial_at_.renew());
  // Longer than x and than the residuals, for a decrease that f64 does not see: such a direction is not determined either.
  const bool far = step_.scaled_norm > std::max(scaled_size(), std::sqrt(2 * at_->cost));
  const bool falls = !far && trial_at_->finite && solver_->norm_in_metric(trial_at_->gradient) < gradient_left();
  judgement_ = falls ? Judgement::accept : Judgement::reject;
  rho_ = falls ? 1 : kNaN;
  if (!falls && step_.scaled_norm == 0) stalled_ = true;
}

void Minimizer::settle() {
  // Derivatives may be missing where residuals are finite: no place to go on from.
  if (judgement_ == Judgement::accept && !trial_at_) {
    evaluator_.linearize_into(trial_, state_.plan, trial_at_.renew());
    if (!trial_at_->finite) judgement_ = Judgement::invalid;
  }
  const bool accepted = judgement_ == Judgement::accept;
  record(accepted ? StepOutcome::accepted
                  : judgement_ == Judgement::invalid ? StepOutcome::invalid : StepOutcome::rejected,
         Event::none, curvature_.in_use() ? "with the curvature of the residuals" : "");
  if (last_accepted_) ++(accepted ? first_accepted_ : first_rejected_);
  weigh_curvature(accepted);
  if (!accepted && undamped() && !trust_.by_radius()) {
    last_accepted_ = false;  // says nothing about the damping, which is tried next
    return;
  }
  if (!accepted) {
    state_.good_steps = 0;
    // Before the damping is raised for it, once, the scheduler may lay the failure on the Gram matrix.
    if (low_gram() && !gram_rejected_ && health_.contraction > options_.policy().thresholds.rejected_contraction) {
      gram_rejected_ = true;
      last_accepted_ = false;
      return;
    }
    trust_.rejected(step_.scaled_norm, judgement_ != Judgement::invalid);
    if (trust_.exhausted()) stalled_ = true;
    if (reach_along_valley_ && last_accepted_) ++vain_reaches_;
    last_accepted_ = false;
    trusted_distance_ = 1;
    return;
  }
  last_decrement_ = undamped() ? first_.decrement : 0;
  last_step_size_ = first_.step_size;
  const double scale = std::max(at_->cost, std::numeric_limits<double>::min());
  ftol_met_ = !low() && options_.ftol > 0 && std::fabs(decrease_) <= options_.ftol * scale && step_.predicted <= options_.ftol * scale;
  state_.x = trial_;
  at_.swap(trial_at_);
  trial_at_.reset();
  solver_.reset();
  cost_f64_.reset();
  trust_.accepted(rho_, step_.scaled_norm);
  if (nonmonotonic_.started() && nonmonotonic_.accepted(at_->cost, step_.predicted)) {
    state_.checkpoint = state_.x;
    state_.checkpoint_cost = at_->cost;
    checkpoint_noise_ = 0;
  }
  streak_lambda_ = trust_.lambda();
  if (reach_along_valley_ && last_accepted_) vain_reaches_ = 0;
  last_accepted_ = true;
  reach_along_valley_ = false;
  gram_rejected_ = false;
  ++state_.good_steps;
  if (!low() || !rule_active(Rule::checkpoints_are_verified)) return;
  if (++state_.unverified_steps >= options_.policy().thresholds.checkpoint_steps) verify();
}

}  // namespace nlsq::inline v0
