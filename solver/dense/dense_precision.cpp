// Implements what DenseSystem measures for the scheduler: noise, errors of J, and the components that caused
// a decision.
#include "minimizer/dense_system.hpp"

#include "ablation.hpp"

#include "kernels/kernel_table.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

PrecisionPlan first_plan(Evaluator& evaluator, const PrecisionPolicy& policy) {
  const double work = static_cast<double>(evaluator.residuals()) * evaluator.row_cost();
  const FitSize size{work, evaluator.parameters(), evaluator.has_f32(), kernels().multiplies_bf16(),
                     evaluator.linear()};
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
    if (plan == lowest) plan = kNarrowestPlan;  // use the plan of the others
  }
  evaluator.raise(std::move(plans));
  return lowest;
}

PrecisionPlan DenseSystem::first_plan(const PrecisionPolicy& policy) {
  return nlsq::first_plan(*evaluator_, policy);
}

// Returns true if a column's norm over all rows in f32 is less than over the sampled rows in f64. Then its
// squares are below the range of f32.
bool DenseSystem::column_underflows() const {
  for (std::size_t j = 0; j < probe_->column_squares.size(); ++j) {
    if (!(at_->normal(j, j) >= 0.5 * probe_->column_squares[j])) return true;
  }
  return false;
}

// Subtracts the bias that the probe measured from the gradient, where it is more than the error of its own
// measurement. The sampled rows serve as a control variate: errors that all rows have in common, such as
// those by the rounding of the parameters, disappear, and only the scatter between rows is left.
void DenseSystem::correct_gradient(const Vector& scale) {
  if (!low() || !probe_->finite || at_->unbiased) return;
  double bias = 0, scatter = 0;
  for (std::size_t j = 0; j < scale.size(); ++j) {
    bias += std::pow(probe_->gradient_bias[j] / scale[j], 2);
    for (std::size_t g = 0; g < probe_->gradient_scatter.rows(); ++g)
      scatter += std::pow(probe_->gradient_scatter(g, j) / scale[j], 2);
  }
  if (!(bias > 4 * scatter)) return;
  for (std::size_t j = 0; j < scale.size(); ++j) at_->gradient[j] -= probe_->gradient_bias[j];
  at_->unbiased = true;
  std::ranges::fill(probe_->gradient_bias, 0.0);
  for (NoiseOf& part : probe_->components) std::ranges::fill(part.gradient_bias, 0.0);
}

// Returns how far rounding to f32 numbers moves the end of the step, in the metric of H. A comparison of rows
// cannot show this noise, since rows in both precisions are evaluated at rounded parameters. It dominates
// where a parameter is far from zero and determined to more than its last f32 digits.
double DenseSystem::grid_noise(std::span<const double> at, const Step& step) {
  Vector& change = work_;
  const std::size_t n = at.size();
  change.assign(n, 0.0);
  for (std::size_t j = 0; j < n; ++j) {
    const double x = at[j] + step.step[j], moved = static_cast<double>(static_cast<float>(x)) - x;
    for (std::size_t i = 0; i < n; ++i) change[i] += at_->normal(j, i) * moved;
  }
  return solver_->norm_in_metric(change);
}

void DenseSystem::measure(std::span<const double> x, const Step& step, HealthReport& health) {
  for (const double share : at_->nonfinite_of)
    health.nonfinite_tiles = std::max(health.nonfinite_tiles, share);
  if (probe_ && column_underflows() && rule_active(Rule::columns_may_underflow)) health.nonfinite_tiles = 1;
  if (!probe_ || !step.factored) return;
  health.finite = health.finite && probe_->finite;
  if (!probe_->jacobian.empty())
    health.contraction = solver_->contraction(probe_->jacobian, probe_->rounded, step);
  if (!probe_->jacobian.empty() && formats_of(at_->plan).jacobian < Format::f32) {
    health.epsilon_j = solver_->largest_in_metric(probe_->jacobian, probe_->rounded);
  }
  if (!low()) return;
  health.rows = static_cast<double>(evaluator_->residuals());
  health.wide_price = pass_work({Format::f32, Gram::f32_wide}) / pass_work(kF64Plan);
  health.grid_noise = grid_noise(x, step);
  health.cost_noise = probe_->cost_noise;
  health.gradient_noise =
      solver_->norm_in_metric(probe_->gradient_bias) + 2 * solver_->rms_in_metric(probe_->gradient_scatter);
}

void DenseSystem::rule_values(RuleValues& values) const {
  values[RuleVariable::memory] = static_cast<double>(evaluator_->bytes());
}

// Returns which components caused a decision. If none did, all of them are meant.
std::vector<bool> DenseSystem::causes_of(Event event, const HealthReport& health, const Thresholds& t) const {
  const std::size_t count = evaluator_->components().size();
  std::vector<bool> causes(count, false);
  // Finds the component with the most noise, and all that exceed the limit by themselves.
  const auto noisy = [&](double limit, auto noise) {
    std::size_t worst = 0;
    double most = 0;
    for (std::size_t c = 0; c < count; ++c) {
      const double own = noise(probe_->components[c]);
      causes[c] = !(own <= limit);
      if (own > most) most = own, worst = c;
    }
    if (most > 0) causes[worst] = true;
  };
  const bool by_noise = probe_ && probe_->components.size() == count;
  switch (event) {
    case Event::overflow:
      for (std::size_t c = 0; c < at_->nonfinite_of.size(); ++c)
        causes[c] = at_->nonfinite_of[c] > t.nonfinite_tiles;
      break;
    case Event::gradient_noise:
      if (!by_noise || health.gradient_noise <= t.gradient_noise * health.nu)
        break;  // rounding of the parameters, which concerns all rows
      noisy(t.gradient_noise * health.nu, [this](const NoiseOf& noise) {
        return solver_->norm_in_metric(noise.gradient_bias) +
               2 * solver_->rms_in_metric(noise.gradient_scatter);
      });
      break;
    case Event::cost_noise:
      if (by_noise)
        noisy(t.cost_noise * health.predicted, [](const NoiseOf& noise) { return noise.cost_noise; });
      break;
    case Event::not_definite:
    case Event::condition:
    case Event::jacobian_error:
    case Event::rejected_step:
      for (std::size_t c = 0; c < count; ++c)
        causes[c] = wider(at_->plan, evaluator_->raised()[c]).gram == at_->plan.gram;
      break;
    default: break;
  }
  return causes;
}

// Raises the components that caused the decision. The decision then holds the narrowest remaining plan. If
// nothing changes, the decision remains and applies to all components.
std::vector<std::string> DenseSystem::raise_causes(Decision& decision, const HealthReport& health,
                                                   const Thresholds& thresholds) {
  const std::span<const RowComponent> components = evaluator_->components();
  if (components.size() < 2 || evaluator_->raised().size() != components.size()) return {};
  const std::vector<bool> causes = causes_of(decision.event, health, thresholds);
  std::vector<PrecisionPlan> plans(evaluator_->raised().begin(), evaluator_->raised().end());
  std::vector<std::string> names;
  bool changed = false;
  for (std::size_t c = 0; c < plans.size(); ++c) {
    if (!causes[c]) continue;
    const PrecisionPlan before = wider(at_->plan, plans[c]);
    plans[c] = wider(plans[c], decision.plan);
    changed = changed || wider(at_->plan, plans[c]) != before;
    names.push_back(components[c].name);
  }
  if (!changed) return {};
  PrecisionPlan lowest = kQrPlan;
  for (const PrecisionPlan& plan : plans) lowest = narrower(lowest, wider(at_->plan, plan));
  decision.plan = lowest;
  evaluator_->raise(std::move(plans));
  return names;
}

}  // namespace nlsq::inline v0
