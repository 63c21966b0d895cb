// Tests that each rule of the scheduler can be switched off by itself, which changes what that rule alone
// decided.
#include <ablation.hpp>

#include <nlsq/scheduler.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <string>

using namespace nlsq;

namespace {

constexpr PrecisionPlan half{Format::f32, Gram::bf16}, tile{Format::f32, Gram::f32_tile},
    wide{Format::f32, Gram::f32_wide}, f64{Format::f64, Gram::f64}, qr{Format::f64, Gram::qr};

// Returns a report in which nothing is wrong, and nothing asks for fewer digits.
HealthReport healthy(PrecisionPlan plan) {
  HealthReport h;
  h.plan = plan;
  h.kappa_lambda = 10;
  h.nu = 1;
  h.predicted = 1;
  h.parameters = 4;
  return h;
}

struct Case {
  Rule rule;
  HealthReport report;
  PrecisionPlan with, without;
};

Case report(Rule rule, HealthReport h, PrecisionPlan with, PrecisionPlan without,
            const std::function<void(HealthReport&)>& change) {
  change(h);
  return {rule, h, with, without};
}

const Case cases[] = {
    report(Rule::redone_tiles_are_limited, healthy(wide), f64, wide,
           [](auto& h) { h.nonfinite_tiles = 0.5; }),
    report(Rule::not_definite, healthy(wide), f64, wide, [](auto& h) { h.factored = false; }),
    report(Rule::condition_of_gram, healthy(wide), f64, wide, [](auto& h) { h.kappa_lambda = 1e13; }),
    report(Rule::condition_of_f64_gram, healthy(f64), qr, f64, [](auto& h) { h.kappa_lambda = 1e13; }),
    report(Rule::sampled_jacobian_error, healthy(half), tile, half, [](auto& h) { h.epsilon_j = 1; }),
    report(Rule::step_error, healthy(tile), wide, tile, [](auto& h) { h.contraction = 1; }),
    report(Rule::gradient_noise, healthy(wide), f64, wide, [](auto& h) { h.gradient_noise = 1; }),
    report(Rule::parameter_grid, healthy(wide), f64, wide, [](auto& h) { h.grid_noise = 1; }),
    report(Rule::cost_noise, healthy(wide), f64, wide, [](auto& h) { h.cost_noise = 2; }),
    report(Rule::undecided_steps_are_limited, healthy(wide), f64, wide,
           [](auto& h) { h.undecided_in_a_row = 2; }),
    report(Rule::rejections_blame_gram, healthy(tile), wide, tile,
           [](auto& h) {
             h.rejected = true;
             h.contraction = 0.07;
           }),
    report(Rule::stalled_rows, healthy(wide), f64, wide, [](auto& h) { h.stalled = true; }),
    report(Rule::finishing, healthy(wide), f64, wide, [](auto& h) { h.relative_distance = 0.5; }),
    report(Rule::wasted_work_is_limited, healthy(tile), f64, wide,
           [](auto& h) {
             h.factored = false;
             h.wasted = 0.5;
           }),
};

PrecisionPolicy automatic() {
  PrecisionPolicy policy = PrecisionPolicy::parse("auto");
  policy.jacobian_floor = Format::bf16;
  policy.gram_floor = Format::f32;
  return policy;
}

}  // namespace

TEST_CASE("a rule of the scheduler that is switched off no longer decides") {
  const PrecisionPolicy policy = automatic();
  for (const Case& c : cases) {
    CAPTURE(static_cast<int>(c.rule));
    CHECK(next_plan(c.report, policy).plan == c.with);
    {
      const WithoutRule without(c.rule);
      CHECK(next_plan(c.report, policy).plan == c.without);
    }
    CHECK(next_plan(c.report, policy).plan == c.with);
  }
}

TEST_CASE("a rule of the entry that is switched off no longer decides") {
  const PrecisionPolicy policy = automatic();
  FitSize small;
  small.row_work = 1;
  CHECK(initial_plan(policy, small) == f64);
  {
    const WithoutRule without(Rule::entry_gate);
    CHECK(initial_plan(policy, small) != f64);
  }
  FitSize linear;
  linear.row_work = 1e9;
  linear.linear = true;
  CHECK(initial_plan(policy, linear) == f64);
  {
    const WithoutRule without(Rule::linear_models_begin_in_f64);
    CHECK(initial_plan(policy, linear) == tile);
  }
  FitSize wide_model;
  wide_model.row_work = 1e9;
  wide_model.parameters = 20;
  PrecisionPolicy from_wide = policy;
  from_wide.jacobian = Format::f32;
  from_wide.gram = Format::f64;
  CHECK(initial_plan(from_wide, wide_model) == tile);
  {
    const WithoutRule without(Rule::parameters_choose_first_gram);
    CHECK(initial_plan(from_wide, wide_model) == wide);
  }
  PrecisionPolicy from_half = policy;
  from_half.jacobian = Format::bf16;
  from_half.gram = Format::f32;
  FitSize few;
  few.row_work = 1e9;
  few.sixteen_bits_pay = true;
  CHECK(initial_plan(from_half, few) == tile);
  {
    const WithoutRule without(Rule::sixteen_bits_need_parameters);
    CHECK(initial_plan(from_half, few) == half);
  }
}
