#include <nlsq/scheduler.hpp>

namespace nlsq::inline v0 {

const char* name(Gram gram) noexcept {
  switch (gram) {
    case Gram::f32_tile: return "f32";
    case Gram::f32_wide: return "f32/f64";
    case Gram::f64: return "f64";
    case Gram::qr: return "qr";
  }
  return "?";
}

const char* name(Event event) noexcept {
  switch (event) {
    case Event::none: return "";
    case Event::finishing: return "finishing";
    case Event::overflow: return "overflow";
    case Event::not_definite: return "not-definite";
    case Event::condition: return "condition";
    case Event::gradient_noise: return "gradient-noise";
    case Event::cost_noise: return "cost-noise";
    case Event::stalled: return "stalled";
    case Event::rollback: return "rollback";
    case Event::sample_abandoned: return "sample-abandoned";
  }
  return "?";
}

// Rounding J costs sqrt(kappa); accumulating H in precision u costs n*u*kappa. Measured: f64 sums of
// an f32 J contract by <= 2.3e-4 on every NIST set, tile-f32 sums by 0.57-0.74 on MGH10 and Lanczos.
double condition_limit(Gram gram, int parameters) noexcept {
  const double n = parameters;
  switch (gram) {
    case Gram::f32_tile: return 0.1 / (n * info(Format::f32).unit_roundoff);
    case Gram::f32_wide: return 2.8e12 / n;
    case Gram::f64: return 1e12;
    case Gram::qr: return 1e300;
  }
  return 0;
}

PrecisionPlan initial_plan(const PrecisionPolicy& policy, double row_work, bool has_f32) {
  const bool gated = policy.entry_gate && row_work < kEntryGateWork;
  if (!policy.adaptive || !has_f32 || gated || policy.residual == Format::f64) {
    return {Format::f64, Gram::f64};
  }
  return {Format::f32, policy.gram == Format::f32 ? Gram::f32_tile : Gram::f32_wide};
}

namespace {

PrecisionPlan all_f64(const PrecisionPlan& plan) {
  return {Format::f64, plan.gram == Gram::qr ? Gram::qr : Gram::f64};
}

// One step up for the Gram matrix; residuals follow where the form needs f64 rows.
PrecisionPlan wider_gram(const PrecisionPlan& plan) {
  switch (plan.gram) {
    case Gram::f32_tile: return {plan.residual, Gram::f32_wide};
    case Gram::f32_wide: return {Format::f64, Gram::f64};
    case Gram::f64:
    case Gram::qr: return {Format::f64, Gram::qr};
  }
  return plan;
}

}  // namespace

// Comparisons are written so that a NaN fails them: what cannot be measured is not good enough.
Decision next_plan(const HealthReport& h) {
  const bool low = h.plan.residual != Format::f64;
  if (low && (!h.finite || !(h.nonfinite_tiles <= 0.01))) return {all_f64(h.plan), Event::overflow};
  if (h.plan.gram != Gram::qr) {
    if (!h.factored) return {wider_gram(h.plan), Event::not_definite};
    if (!(h.kappa_lambda <= condition_limit(h.plan.gram, h.parameters))) return {wider_gram(h.plan), Event::condition};
  }
  if (!low) return {h.plan, Event::none};
  // So close an undamped step lands where only f64 can tell what is left to do, if noise
  // does not spoil the step: a pass at this point in f64 would tell less than one at the next.
  if (h.nearness <= 1 && h.gradient_noise <= 0.5 * h.nu) return {all_f64(h.plan), Event::finishing, true};
  // The gradient decides where the answer lies; below a tenth of nu its noise does no harm yet.
  if (!(h.gradient_noise <= 0.1 * h.nu)) return {all_f64(h.plan), Event::gradient_noise};
  // A step whose predicted gain drowns in the cost's noise cannot be judged.
  if (h.undecided_in_a_row >= 2 || !(h.cost_noise <= h.predicted)) return {all_f64(h.plan), Event::cost_noise};
  if (h.stalled) return {all_f64(h.plan), Event::stalled};
  return {h.plan, Event::none};
}

}  // namespace nlsq::inline v0
