// What the digits in force allow: measurements, promotions, the way back to the checkpoint.
#include "minimizer.hpp"

#include "ablation.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

// So close to the optimum of the linear model that its undamped step is trusted, and that model well determined. With few
// degrees of freedom σ is itself made of the distance: the step must be a small part of the residual, too.
bool Minimizer::near_optimum() const {
  return first_order_known() && first_.decrement_sigma <= trusted_distance_ &&
         first_.decrement * first_.decrement <= 0.1 * 2 * at_->cost;
}

// Damping only slows the last steps: it leaves λ/(λ + eigenvalue) of the distance. Not after one failed.
bool Minimizer::undamped() const { return near_optimum() && last_accepted_; }

// The damped step promises less than the cost can show, the undamped one more: x lies in a narrow valley, and
// more damping will not help. Once at a point, and no more after three times in vain.
bool Minimizer::worth_less_damping() const {
  return !low() && step_.factored && !reach_along_valley_ && vain_reaches_ < 3 && !undamped() && first_order_known() && step_.predicted < 4 * noise() &&
         first_.decrement * first_.decrement > 32 * noise();
}

// Step at the damping in force, and the numbers the scheduler decides by.
void Minimizer::assess() {
  const auto begin = Clock::now();
  solve_step(undamped() ? 0 : trust_.lambda());
  damp_negative_curvature();
  // Damping, not more digits, is the cure for a matrix that is singular by nature.
  for (double shift = 1e-14; !step_.factored && !low() && shift < 1e-6; shift *= 10) {
    if (trust_.lambda() >= shift) continue;
    trust_.restore(shift);
    solve_step(shift);
  }
  if (worth_less_damping()) {
    reach_along_valley_ = true;
    if (trust_.by_radius()) {
      solver_->solve(trust_.lambda(), step_);
      trust_.reach(step_.scaled_norm);
    }
    while (step_.factored && trust_.lambda() > 2 * TrustRegion::kMin && step_.predicted < 4 * noise()) {
      trust_.restore(trust_.lambda() / 4);
      solver_->solve(trust_.lambda(), step_);
    }
  }
  summary_.time.solve += seconds_since(begin);
  health_ = {};
  health_.plan = at_->plan;
  health_.finite = at_->finite;
  health_.nonfinite_tiles = at_->nonfinite_tiles;
  for (const double share : at_->nonfinite_of) health_.nonfinite_tiles = std::max(health_.nonfinite_tiles, share);
  health_.factored = step_.factored;
  health_.kappa_lambda = step_.condition;
  health_.lambda = undamped() ? 0 : trust_.lambda();
  health_.nu = step_.nu;
  health_.predicted = step_.predicted;
  health_.parameters = evaluator_.parameters();
  health_.undecided_in_a_row = state_.undecided_in_a_row;
  health_.sixteen_bits_pay = kernels().bf16_instructions;
  health_.rejected = gram_rejected_;
  health_.stalled = stalled_;
  health_.good_steps = state_.good_steps;
  health_.descents = state_.descents;
  health_.wasted = wasted_share();
  if (near_optimum()) health_.nearness = first_.decrement_sigma / trusted_distance_;
  if (probe_ && underflows() && rule_active(Rule::columns_may_underflow)) health_.nonfinite_tiles = 1;
  if (!probe_ || !step_.factored) return;
  health_.finite = health_.finite && probe_->finite;
  if (!probe_->jacobian.empty()) health_.contraction = solver_->contraction(probe_->jacobian, probe_->rounded, step_);
  if (!probe_->jacobian.empty() && formats_of(at_->plan).jacobian < Format::f32) {
    health_.epsilon_j = solver_->largest_in_metric(probe_->jacobian, probe_->rounded);
  }
  if (!probe_->rounded_below.empty()) {
    health_.epsilon_j_below = solver_->largest_in_metric(probe_->jacobian, probe_->rounded_below);
  }
  if (!low()) return;
  health_.grid_noise = grid_noise();
  health_.cost_noise = probe_->cost_noise;
  health_.gradient_noise =
      solver_->norm_in_metric(probe_->gradient_bias) + 2 * solver_->rms_in_metric(probe_->gradient_scatter);
}

// How far rounding to the f32 grid moves the point of the step, in the metric of H: noise that no row sees, as rows are
// evaluated on the grid. Where a parameter is far from zero and known to less than its last digits, it is all there is.
double Minimizer::grid_noise() {
  Vector& change = memory_.norms;
  const std::size_t n = state_.x.size();
  change.assign(n, 0.0);
  for (std::size_t j = 0; j < n; ++j) {
    const double x = state_.x[j] + step_.step[j], moved = static_cast<double>(static_cast<float>(x)) - x;
    for (std::size_t i = 0; i < n; ++i) change[i] += at_->normal(j, i) * moved;
  }
  return solver_->norm_in_metric(change);
}

// What rules may ask for. NaN where it is not known.
RuleValues Minimizer::rule_values() const {
  using V = RuleVariable;
  RuleValues v;
  const double sigma = scatter(at_->cost, evaluator_.residuals(), state_.x.size(), unit_sigma_);
  if (step_.factored) {
    v[V::condition] = health_.kappa_lambda;
    v[V::epsilon_j] = probe_ ? health_.epsilon_j : 0;
    v[V::epsilon_f] = at_->cost > 0 ? health_.cost_noise / at_->cost : kNaN;
    v[V::decrement] = sigma > 0 ? step_.nu / sigma : kNaN;
  }
  v[V::rho] = rho_;
  v[V::lambda] = health_.lambda;
  v[V::iteration] = state_.iteration;
  v[V::rows] = static_cast<double>(evaluator_.residuals());
  v[V::n] = evaluator_.parameters();
  v[V::memory] = static_cast<double>(evaluator_.bytes());
  v[V::nonfinite] = at_->nonfinite_tiles;
  return v;
}

// Passes thrown away beside those that served. Samples and probes are small beside either.
double Minimizer::wasted_share() const {
  const double served = evaluator_.counted_work() - wasted_work_;
  return served > 0 ? wasted_work_ / served : 0;
}

PrecisionPlan first_plan(Evaluator& evaluator, const PrecisionPolicy& policy) {
  const double work = static_cast<double>(evaluator.residuals()) * evaluator.row_cost();
  const FitSize size{work, evaluator.parameters(), evaluator.has_f32(), kernels().bf16_instructions, evaluator.linear()};
  const std::span<const RowComponent> components = evaluator.components();
  if (components.empty()) return initial_plan(policy, size);
  std::vector<PrecisionPlan> plans;
  for (const RowComponent& component : components) {
    PrecisionPolicy own = policy;
    static_cast<PartFormats&>(own) = policy.formats_of(component.name);
    plans.push_back(initial_plan(own, size));
  }
  PrecisionPlan lowest = plans.front();
  for (const PrecisionPlan& plan : plans) lowest = narrower(lowest, plan);
  for (PrecisionPlan& plan : plans) {
    if (plan == lowest) plan = kNarrowestPlan;  // goes where the others go
  }
  evaluator.raise(std::move(plans));
  return lowest;
}

// Which components are to blame for what a decision is about; none: all of them.
std::vector<bool> Minimizer::blamed(const Decision& decision) const {
  const std::size_t count = evaluator_.components().size();
  const Thresholds& t = options_.policy().thresholds;
  std::vector<bool> blame(count, false);
  // The worst, and all that would be too much by themselves.
  const auto noisy = [&](double limit, auto noise) {
    std::size_t worst = 0;
    double most = 0;
    for (std::size_t c = 0; c < count; ++c) {
      const double own = noise(probe_->components[c]);
      blame[c] = !(own <= limit);
      if (own > most) most = own, worst = c;
    }
    if (most > 0) blame[worst] = true;
  };
  const bool by_noise = probe_ && probe_->components.size() == count;
  switch (decision.event) {
    case Event::overflow:
      for (std::size_t c = 0; c < at_->nonfinite_of.size(); ++c) blame[c] = at_->nonfinite_of[c] > t.nonfinite_tiles;
      break;
    case Event::gradient_noise:
      if (!by_noise || health_.gradient_noise <= t.gradient_noise * health_.nu) break;  // of the grid, which is all rows' affair
      noisy(t.gradient_noise * health_.nu, [this](const NoiseOf& noise) {
        return solver_->norm_in_metric(noise.gradient_bias) + 2 * solver_->rms_in_metric(noise.gradient_scatter);
      });
      break;
    case Event::cost_noise:
      if (by_noise) noisy(t.cost_noise * health_.predicted, [](const NoiseOf& noise) { return noise.cost_noise; });
      break;
    case Event::not_definite:
    case Event::condition:
    case Event::jacobian_error:
    case Event::rejected_step:
      for (std::size_t c = 0; c < count; ++c) blame[c] = wider(at_->plan, evaluator_.raised()[c]).gram == at_->plan.gram;
      break;
    default: break;
  }
  return blame;
}

// Raises the components to blame alone, where that changes anything, and gives their names; the decision is then for the
// narrowest plan left. Else the decision stays what it is, for all.
std::vector<std::string> Minimizer::raise_blamed(Decision& decision) {
  const std::span<const RowComponent> components = evaluator_.components();
  if (components.size() < 2 || evaluator_.raised().size() != components.size()) return {};
  const std::vector<bool> blame = blamed(decision);
  std::vector<PrecisionPlan> plans(evaluator_.raised().begin(), evaluator_.raised().end());
  std::vector<std::string> names;
  bool changed = false;
  for (std::size_t c = 0; c < plans.size(); ++c) {
    if (!blame[c]) continue;
    const PrecisionPlan before = wider(at_->plan, plans[c]);
    plans[c] = wider(plans[c], decision.plan);
    changed = changed || wider(at_->plan, plans[c]) != before;
    names.push_back(components[c].name);
  }
  if (!changed) return {};
  PrecisionPlan lowest{Format::f64, Gram::qr};
  for (const PrecisionPlan& plan : plans) lowest = narrower(lowest, wider(at_->plan, plan));
  decision.plan = lowest;
  evaluator_.raise(std::move(plans));
  return names;
}

// The next lower form's 16 bits, where the scheduler may want to know what they would do.
std::optional<Format> Minimizer::format_below() const {
  const PrecisionPolicy& policy = options_.policy();
  const bool asks = at_->plan.gram == Gram::f32_tile && info(policy.jacobian_floor).bytes == 2 && kernels().bf16_instructions &&
                    evaluator_.parameters() >= policy.thresholds.sixteen_bit_parameters;
  return asks ? std::optional(policy.jacobian_floor) : std::nullopt;
}

// All rows in f32 give a column less length than the sampled ones have in f64: it is below f32's range.
bool Minimizer::underflows() const {
  for (std::size_t j = 0; j < probe_->column_squares.size(); ++j) {
    if (!(at_->normal(j, j) >= 0.5 * probe_->column_squares[j])) return true;
  }
  return false;
}

bool Minimizer::promote() {
  const Decision decision = next_plan(health_, options_.policy(), rule_values());
  if (decision.plan == at_->plan) return false;
  if (decision.event == Event::finishing && decision.at_trial && finish_in(decision.plan)) return true;
  std::string reason;
  switch (decision.event) {
    case Event::rule: reason = options_.policy().rules[decision.rule->index].to_string(); break;
    case Event::overflow: reason = fmt::format("{:.1f} % of tiles leave the range of f32", 100 * health_.nonfinite_tiles); break;
    case Event::not_definite: reason = "normal matrix is not positive definite"; break;
    case Event::condition:
      reason = fmt::format("condition {:.1e} > {:.1e}", health_.kappa_lambda,
                           condition_limit(at_->plan.gram, health_.parameters, options_.policy().thresholds));
      break;
    case Event::jacobian_error:
      reason = fmt::format("error of J {:.1e}, of the step {:.1e}", health_.epsilon_j, health_.contraction);
      break;
    case Event::rejected_step: reason = fmt::format("error of the step {:.1e}", health_.contraction); break;
    case Event::descent:
      reason = fmt::format("condition {:.1e}, error of J {:.1e}", health_.kappa_lambda, health_.epsilon_j_below);
      break;
    case Event::gradient_noise:
      reason = fmt::format("noise {:.1e} > {:g} * nu {:.1e}", std::max(health_.gradient_noise, health_.grid_noise),
                           options_.policy().thresholds.gradient_noise, health_.nu);
      break;
    case Event::cost_noise: reason = fmt::format("cost noise {:.1e}, predicted {:.1e}", health_.cost_noise, health_.predicted); break;
    case Event::finishing: reason = fmt::format("{:.1e} standard errors from the optimum", first_.decrement_sigma); break;
    default: reason = "no acceptable step";
  }
  if (decision.plan.gram < at_->plan.gram) ++state_.descents;
  state_.good_steps = 0;
  if (decision.at_trial && decision.event != Event::finishing) {
    change_next(decision, std::move(reason));
    return false;
  }
  escalate(decision, std::move(reason));
  return true;
}

// The plan of the next point; what is known of this one serves still.
void Minimizer::change_next(const Decision& decision, std::string reason) {
  record(StepOutcome::promoted, decision.event, std::move(reason));
  state_.plan = decision.plan;
}

// Takes the step and knows its end in f64 at once. Costs of two precisions are not comparable; gradients
// in the metric of H are, but for the noise of the one below f64. False: the step did not help.
bool Minimizer::finish_in(const PrecisionPlan& plan) {
  if (gram_worth_keeping()) return finish_with_gram_kept(plan);
  propose();
  Linearization there = evaluator_.linearize(trial_, plan);
  if (!there.finite) return false;
  if (!(solver_->norm_in_metric(there.gradient) < gradient_left() + health_.gradient_noise) &&
      rule_active(Rule::finishing_step_lowers_gradient)) {
    return false;
  }
  rho_ = kNaN;
  record(StepOutcome::accepted, Event::finishing, fmt::format("{:.1e} standard errors from the optimum", first_.decrement_sigma));
  ++summary_.precision.escalations;
  last_decrement_ = first_.decrement;
  last_step_size_ = first_.step_size;
  state_.x = trial_;
  state_.plan = plan;
  at_.renew() = std::move(there);
  solver_.reset();
  cost_f64_.reset();
  streak_lambda_ = trust_.lambda();
  last_accepted_ = true;
  return true;
}

void Minimizer::escalate(Decision decision, std::string reason) {
  std::vector<std::string> names = raise_blamed(decision);
  if (!names.empty()) reason = fmt::format("{}: {}", fmt::join(names, ", "), reason);
  record(StepOutcome::promoted, decision.event, std::move(reason), std::move(names));
  ++summary_.precision.escalations;
  const bool finer_rows = decision.plan.residual != at_->plan.residual;
  wasted_work_ += evaluator_.pass_work(at_->plan);
  state_.plan = decision.plan;
  gram_rejected_ = false;
  // Columns whose squares underflowed have no length below f64.
  if (rule_active(Rule::promotion_forgets_scales)) state_.scale.clear();
  if (rule_active(Rule::promotion_restores_damping)) trust_.restore(streak_lambda_);
  trust_.forgive();
  at_.reset();
  solver_.reset();
  cost_f64_.reset();
  state_.undecided_in_a_row = 0;
  stalled_ = false;
  last_accepted_ = true;
  if (!finer_rows) return;
  if (std::ranges::none_of(summary_.iterations, [](const IterationSummary& it) { return it.outcome == StepOutcome::accepted; })) projection_.see_again();
  // Now costs are true: a point worse than the last verified one is not kept.
  evaluator_.linearize_into(state_.x, state_.plan, at_.renew());
  if (!at_->finite) roll_back();
}

// Whether f64 shows x to be worse than where the iteration started: low precision led astray. The start's
// cost is known in f64, or in f32 up to its noise; only where that leaves the question open a pass tells.
bool Minimizer::worse_than_checkpoint() {
  if (state_.checkpoint == state_.x || at_->cost + checkpoint_noise_ < state_.checkpoint_cost) return false;
  if (checkpoint_noise_ > 0) {
    state_.checkpoint_cost = evaluator_.cost(state_.checkpoint, Format::f64).cost;
    checkpoint_noise_ = 0;
  }
  return at_->cost > state_.checkpoint_cost + noise();
}

// Every few steps below f64 the point is compared with the last one verified, in f64.
void Minimizer::verify() {
  state_.unverified_steps = 0;
  if (checkpoint_noise_ > 0) state_.checkpoint_cost = evaluator_.cost(state_.checkpoint, Format::f64).cost;
  checkpoint_noise_ = 0;
  const double cost = evaluator_.cost(state_.x, Format::f64).cost;
  if (!(cost <= state_.checkpoint_cost + noise())) return roll_back();
  state_.checkpoint = state_.x;
  state_.checkpoint_cost = cost;
  work_at_checkpoint_ = evaluator_.counted_work();
}

void Minimizer::roll_back() {
  wasted_work_ = std::max(wasted_work_, evaluator_.counted_work() - work_at_checkpoint_);
  record(StepOutcome::promoted, Event::rollback, fmt::format("cost {:.9g} is above the checkpoint's", at_->cost));
  nonmonotonic_.end();
  state_.x = state_.checkpoint;
  last_decrement_ = 0;
  state_.plan = {Format::f64, Gram::f64};
  trust_.restore(trust_.by_radius() ? TrustRegion::kMin : options_.initial_lambda);
  trust_.forgive();
  evaluator_.linearize_into(state_.x, state_.plan, at_.renew());
  solver_.reset();
  cost_f64_.reset();
}

}  // namespace nlsq::inline v0
