// Makes the decisions of the precision scheduler. The minimizer calls it for the plan of each evaluation.
#include <nlsq/scheduler.hpp>

#include "ablation.hpp"
#include "enum_names.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

const char* name(Gram gram) noexcept {
  static constexpr const char* kNames[] = {"f16", "bf16", "f32", "f32/f64", "f64", "qr"};
  return name_in<Gram::qr>(kNames, gram);
}

const char* name(Event event) noexcept {
  static constexpr const char* kNames[] = {
      "",          "rule",           "finishing",      "overflow",        "not-definite",
      "condition", "jacobian-error", "gradient-noise", "cost-noise",      "rejected-step",
      "stalled",   "last-step",      "rollback",       "sample-abandoned"};
  return name_in<Event::sample_abandoned>(kNames, event);
}

PartFormats formats_of(const PrecisionPlan& plan) noexcept {
  switch (plan.gram) {
    case Gram::f16: return {plan.residual, Format::f16, Format::f32, Format::f64};
    case Gram::bf16: return {plan.residual, Format::bf16, Format::f32, Format::f64};
    case Gram::f32_tile: return {plan.residual, Format::f32, Format::f32, Format::f64};
    case Gram::f32_wide: return {plan.residual, Format::f32, Format::f64, Format::f64};
    default: return {plan.residual, Format::f64, Format::f64, Format::f64};
  }
}

PrecisionPlan plan_of(const PartFormats& formats) noexcept {
  switch (formats.jacobian) {
    case Format::f16: return {formats.residual, Gram::f16};
    case Format::bf16: return {formats.residual, Gram::bf16};
    case Format::f32:
      return {formats.residual, formats.gram == Format::f32 ? Gram::f32_tile : Gram::f32_wide};
    default: return {formats.residual, Gram::f64};
  }
}

PrecisionPlan wider(const PrecisionPlan& a, const PrecisionPlan& b) noexcept {
  return {std::max(a.residual, b.residual), std::max(a.gram, b.gram)};
}

PrecisionPlan narrower(const PrecisionPlan& a, const PrecisionPlan& b) noexcept {
  return {std::min(a.residual, b.residual), std::min(a.gram, b.gram)};
}

std::string short_name(const PrecisionPlan& plan) {
  const std::string jacobian = name(formats_of(plan).jacobian);
  return plan.residual == Format::f64 && plan.gram < Gram::f64 ? "f64+" + jacobian : jacobian;
}

namespace {

// Returns a bound on the norm of the errors of H with f32 tile sums, in units of the roundoff; H has n
// columns of unit length. It is n if all errors agree. With many columns they do not: they are like random
// numbers. An entry is the sum of tiles of some 256 rows, and the error of a tile's chain of sums grows with
// the root of its length. The tiles' errors add up like random numbers, too, and so do those of the entries,
// whose matrix has a norm of 2 sqrt(n) times an entry (E. Wigner, Annals of Mathematics 62, 548, 1955).
double error_of_tile_sums(double n, double rows) {
  constexpr double kMany = 64, kTile = 256;
  if (n < kMany || !(rows > 0)) return n;
  const double entry = std::sqrt(kTile / 3) / std::sqrt(std::max(1.0, rows / kTile));
  return std::min(n, std::max(1.0, 2 * entry) * std::sqrt(n));
}

}  // namespace

// Rounding J costs sqrt(kappa). Accumulating H with roundoff u costs n*u*kappa. The share of the distance to
// the optimum that remains after a step was measured: at most 2.3e-4 with f64 sums of an f32 J on every NIST
// set, 0.57 to 0.74 with f32 tile sums on MGH10 and Lanczos.
double condition_limit(Gram gram, int parameters, const Thresholds& t, double rows) noexcept {
  const double n = parameters;
  switch (gram) {
    case Gram::f32_tile:
      return t.gram_contraction / (error_of_tile_sums(n, rows) * info(Format::f32).unit_roundoff);
    case Gram::f32_wide: return t.wide_condition / n;
    case Gram::f64: return rule_active(Rule::condition_of_f64_gram) ? t.f64_condition : 1e300;
    default: return 1e300;
  }
}

namespace {

bool sixteen_bits(Gram gram) { return gram <= Gram::bf16; }
bool below_f64(Gram gram) { return gram < Gram::f64; }

// A 16-bit J pays from thresholds.sixteen_bit_parameters on, and from four times as many where f64 rows must
// be rounded to 16 bits first. The f32 forms save nothing under f64 rows (table in docs/precision.md).
bool worth_under_f64_rows(Gram gram, int parameters, bool pays, const Thresholds& t) {
  return sixteen_bits(gram) && pays && parameters >= 4 * t.sixteen_bit_parameters;
}

PrecisionPlan all_f64(const PrecisionPlan& plan) {
  return {Format::f64, plan.gram == Gram::qr ? Gram::qr : Gram::f64};
}

bool within(const PrecisionPlan& plan, const PartFormats& ceiling) {
  const PartFormats f = formats_of(plan);
  return f.residual <= ceiling.residual && f.jacobian <= ceiling.jacobian && f.gram <= ceiling.gram;
}

constexpr double kWidePays = 0.85;  // share of an f64 pass that f32 rows with f64 sums may cost

// Widens the Gram matrix by one form. Residuals become f64 if the form needs f64 rows.
PrecisionPlan wider_gram(const HealthReport& h, const PartFormats& ceiling) {
  if (h.plan.residual == Format::f64 && below_f64(h.plan.gram) && !h.residuals_stay_f64)
    return all_f64(h.plan);
  switch (h.plan.gram) {
    case Gram::f16:
    case Gram::bf16: return {h.plan.residual, Gram::f32_tile};
    case Gram::f32_tile:
      // With many parameters the sums take most of a pass, and f64 sums take as long with either J.
      if (h.wide_price > kWidePays && within(all_f64(h.plan), ceiling)) return all_f64(h.plan);
      return {h.plan.residual, Gram::f32_wide};
    case Gram::f32_wide: return {Format::f64, Gram::f64};
    case Gram::f64:
    case Gram::qr: return {Format::f64, Gram::qr};
  }
  return h.plan;
}

// Returns the next cheaper form for f32 rows, if the policy's floor allows one and the kernels make it pay.
std::optional<Gram> narrower_gram(Gram gram, const PrecisionPolicy& policy, bool sixteen_bits_worth) {
  const auto floor =
      info(policy.jacobian_floor).bytes == 2 && sixteen_bits_worth ? policy.jacobian_floor : Format::f32;
  switch (gram) {
    case Gram::f32_wide:
      return policy.gram_floor == Format::f32 ? std::optional(Gram::f32_tile) : std::nullopt;
    case Gram::f32_tile:
      if (floor == Format::f32) return std::nullopt;
      return floor == Format::f16 ? Gram::f16 : Gram::bf16;
    default: return std::nullopt;
  }
}

// Checks whether the Gram matrix determines the step well enough. Returns the event that widens it, or none.
Event gram_trouble(const HealthReport& h, const Thresholds& t) {
  const Gram gram = h.plan.gram;
  if (gram == Gram::qr) return Event::none;
  if (!h.factored && rule_active(Rule::not_definite)) return Event::not_definite;
  if (sixteen_bits(gram)) {
    if (!(h.epsilon_j <= t.epsilon_j) && rule_active(Rule::sampled_jacobian_error))
      return Event::jacobian_error;
  } else if (!(h.kappa_lambda <= condition_limit(gram, h.parameters, t, h.rows)) &&
             rule_active(Rule::condition_of_gram)) {
    return Event::condition;
  }
  if (!below_f64(gram)) return Event::none;
  if (h.contraction_known && !(h.contraction <= t.epsilon_j) && rule_active(Rule::step_error)) {
    return Event::jacobian_error;
  }
  const bool blamed = h.rejected && !(h.contraction_known && h.contraction <= t.rejected_contraction);
  return blamed && rule_active(Rule::rejections_blame_gram) ? Event::rejected_step : Event::none;
}

// Checks whether f32 rows still give the direction of a step and can judge its gain.
Event row_trouble(const HealthReport& h, const Thresholds& t) {
  // The gradient decides where the answer lies. Noise below a tenth of nu is harmless, both in the gradient
  // and from rounding the next point to f32.
  const double most = t.gradient_noise * h.nu;
  if (!(h.gradient_noise <= most) && rule_active(Rule::gradient_noise)) return Event::gradient_noise;
  if (!(h.grid_noise <= most) && rule_active(Rule::parameter_grid)) return Event::gradient_noise;
  // A step cannot be judged if noise in the cost exceeds its predicted gain.
  const bool undecided = h.undecided_in_a_row >= t.undecided_steps;
  if (undecided && rule_active(Rule::undecided_steps_are_limited)) return Event::cost_noise;
  if (!(h.cost_noise <= t.cost_noise * h.predicted) && rule_active(Rule::cost_noise))
    return Event::cost_noise;
  return h.stalled && rule_active(Rule::stalled_rows) ? Event::stalled : Event::none;
}

// Decides when a J below f64 becomes f64, if residuals are always f64: close to the optimum, where repeated
// steps are slow, or once the cost has almost stopped falling.
std::optional<Decision> jacobian_decision(const HealthReport& h) {
  constexpr double kFlat = 1e-9;  // relative decrease of the cost
  // These constants describe repeated steps that have the right direction but not the length that J predicts.
  // They occur when the rounding errors of J are larger than its smallest singular values.
  constexpr double kLittleDamping = 1e-6;
  constexpr int kSteps = 3;
  const bool slow = h.poor_predictions >= kSteps && h.lambda <= kLittleDamping;
  if (slow || h.stalled) return Decision{all_f64(h.plan), Event::stalled};
  if (h.relative_distance <= 1 || h.last_decrease <= kFlat)
    return Decision{all_f64(h.plan), Event::finishing, true};
  return std::nullopt;
}

// Applies the first rule that holds, if it changes the plan.
std::optional<Decision> by_rule(const HealthReport& h, const PrecisionPolicy& policy,
                                const RuleValues& values) {
  const auto match = apply_rules(policy.rules, values);
  if (!match || h.plan.gram == Gram::qr) return std::nullopt;
  const PrecisionPlan plan = plan_of(changed(formats_of(h.plan), match->change));
  // A fit that alternates between forms of the Gram matrix pays for each change.
  const bool down = plan.gram < h.plan.gram, too_often = h.descents >= policy.thresholds.descents;
  if (plan == h.plan || plan.residual < h.plan.residual || (down && too_often)) return std::nullopt;
  return Decision{plan, Event::rule, down && plan.residual == h.plan.residual, match};
}

// Returns true if all passes together cost so little that fewer digits cannot pay.
bool too_little_work(const FitSize& size, const Thresholds& t) {
  if (size.linear && rule_active(Rule::linear_models_begin_in_f64)) return true;
  return !(size.row_work >= t.entry_work) && rule_active(Rule::entry_gate);
}

}  // namespace

PrecisionPlan initial_plan(const PrecisionPolicy& policy, const FitSize& size) {
  const Thresholds& t = policy.thresholds;
  const PrecisionPlan f64{Format::f64, Gram::f64};
  if (!policy.adaptive || (policy.entry_gate && too_little_work(size, t))) return f64;
  PrecisionPlan plan = plan_of(policy);
  const bool pays = size.sixteen_bits_pay && size.parameters >= t.sixteen_bit_parameters;
  if (!size.has_f32 && !worth_under_f64_rows(plan.gram, size.parameters, size.sixteen_bits_pay, t))
    return f64;
  if (!size.has_f32) plan.residual = Format::f64;
  if (!policy.entry_gate) return plan;
  // The problem passed the entry gate: choose the form that pays for its number of parameters.
  if (plan.residual == Format::f64)
    return worth_under_f64_rows(plan.gram, size.parameters, size.sixteen_bits_pay, t) ? plan : f64;
  if (sixteen_bits(plan.gram) && !pays && rule_active(Rule::sixteen_bits_need_parameters))
    plan.gram = Gram::f32_wide;
  if (rule_active(Rule::parameters_choose_first_gram) && plan.gram == Gram::f32_wide) {
    while (const auto narrower = narrower_gram(plan.gram, policy, pays)) plan.gram = *narrower;
  }
  return plan;
}

// A step still goes towards the optimum if the condition number is up to this multiple of its limit.
constexpr double kUsableCondition = 10;

Decision next_plan(const HealthReport& h, const PrecisionPolicy& policy, const RuleValues& values) {
  const Thresholds& t = policy.thresholds;
  const bool low_rows = h.plan.residual != Format::f64,
             low_jacobian = h.residuals_stay_f64 && below_f64(h.plan.gram);
  const bool few_redone =
      h.nonfinite_tiles <= t.nonfinite_tiles || !rule_active(Rule::redone_tiles_are_limited);
  if ((low_rows || low_jacobian) && !(h.finite && few_redone)) return {all_f64(h.plan), Event::overflow};
  if (const auto decision = by_rule(h, policy, values)) return *decision;

  if (h.residuals_stay_f64 && !low_jacobian) return {h.plan, Event::none};  // a QR pass would not help here
  const bool finishing = low_rows && h.relative_distance <= 1 && rule_active(Rule::finishing);
  if (const Event event = gram_trouble(h, t); event != Event::none) {
    // The next point gets an f64 pass in any case, and a somewhat wrong step ends close enough to the
    // optimum.
    const bool a_step =
        event == Event::condition &&
        h.kappa_lambda <= kUsableCondition * condition_limit(h.plan.gram, h.parameters, t, h.rows);
    if (finishing && a_step) return {all_f64(h.plan), Event::finishing, true};
    const bool wasted_too_much =
        low_rows && !(h.wasted <= t.wasted_work) && rule_active(Rule::wasted_work_is_limited);
    const PrecisionPlan plan = wasted_too_much ? all_f64(h.plan) : wider_gram(h, policy.ceiling);
    // The policy's ceiling forbids this escalation, with two exceptions. If H cannot be factored, no step is
    // possible without it. If the plan is above the ceiling already, the ceiling has no effect: small fits
    // start in f64 whatever the ceiling is.
    if (event == Event::not_definite || !within(h.plan, policy.ceiling) || within(plan, policy.ceiling))
      return {plan, event};
  }
  if (low_jacobian) {
    if (const auto decision = jacobian_decision(h)) return *decision;
  }
  if (low_rows) {
    // An undamped step is trusted here, and only an f64 pass shows what remains. That pass is more useful at
    // the next point than at this one, even if noise affects the step.
    if (finishing) return {all_f64(h.plan), Event::finishing, true};
    const Event event = row_trouble(h, t);
    const PrecisionPlan plan = all_f64(h.plan);
    // The ceiling does not apply if no step below it is acceptable.
    if (event != Event::none && (h.stalled || within(plan, policy.ceiling))) return {plan, event};
  }
  return {h.plan, Event::none};
}

}  // namespace nlsq::inline v0
