// Tests the scheduler over a whole fit: where it starts, what rules change, and what never happens.

#include <nlsq/scheduler.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include "scheduler_plans.hpp"

using namespace nlsq;
using namespace scheduler_plans;

TEST_CASE("a ceiling holds as long as steps are to be had below it, and no longer") {
  const PrecisionPolicy half_only = PrecisionPolicy::parse("always_f16"),
                        single_only = PrecisionPolicy::parse("always_f32");
  HealthReport h = healthy({Format::f32, Gram::f16});
  h.contraction = 1;
  h.gradient_noise = 100;
  CHECK(next_plan(h, half_only).plan == h.plan);
  h.plan = tile;
  h.kappa_lambda = 1e15;
  CHECK(next_plan(h, single_only).plan == tile);
  h.stalled = true;
  CHECK(next_plan(h, single_only).plan == f64);
  h.stalled = false;
  h.factored = false;
  CHECK(next_plan(h, single_only).plan == wide);
  h.finite = false;
  CHECK(next_plan(h, single_only).plan == f64);
  h = healthy(f64);  // it is above that already, so that the end can have what it needs
  h.kappa_lambda = 1e13;
  CHECK(next_plan(h, single_only).plan == qr);
}

TEST_CASE("rules come first, lower the Gram matrix twice at most, and rows never") {
  RuleValues values;
  values[RuleVariable::condition] = 1e7;
  const PrecisionPolicy up = PrecisionPolicy::parse("auto; condition > 1e6 -> gram=f64");
  HealthReport h = healthy(tile);
  Decision d = next_plan(h, up, values);
  CHECK(d.event == Event::rule);
  CHECK(d.plan == wide);
  REQUIRE(d.rule);
  CHECK(d.rule->index == 0);
  h.plan = wide;
  CHECK(next_plan(h, up, values).event == Event::none);
  values[RuleVariable::condition] = 1e5;
  h.plan = tile;
  CHECK(next_plan(h, up, values).event == Event::none);

  const PrecisionPolicy down = PrecisionPolicy::parse("auto; condition < 1e6 -> jacobian=bf16");
  d = next_plan(h, down, values);
  CHECK(d.plan == half);
  CHECK(d.at_trial);
  h.descents = 2;
  CHECK(next_plan(h, down, values).event == Event::none);
  h.descents = 0;
  h.plan = qr;
  CHECK(next_plan(h, down, values).event == Event::none);
}

TEST_CASE("once too much work was thrown away an escalation from f32 rows goes all the way") {
  HealthReport h = healthy(tile);
  h.kappa_lambda = 1e9;
  h.wasted = 0.25;
  check_edge(h, wide, Event::condition);
  h.wasted = 0.26;
  check_edge(h, f64, Event::condition);
}

TEST_CASE("the entry gate sends small problems to f64, and the rest to what pays for so many parameters") {
  const auto plan = [](const char* policy, double work, int n = 4, bool f32 = true, bool pays = true) {
    return initial_plan(PrecisionPolicy::parse(policy), {work, n, f32, pays});
  };
  CHECK(plan("auto", 2e6) == tile);
  CHECK(plan("auto", 2e6 * (1 - 1e-12)) == f64);
  CHECK(plan("f32", 0) == wide);
  CHECK(plan("gram=f32", 1e9) == tile);
  CHECK(plan("gram=f32", 1) == f64);
  CHECK(plan("f64", 1e12) == f64);
  CHECK(plan("residual=f64,gate=off", 1e12) == f64);
  CHECK(plan("f32", 1e12, 4, false) == f64);  // these rows exist only in f64
  CHECK(plan("bf16", 0) == half);
  CHECK(plan("always_f16", 0) == PrecisionPlan{Format::f32, Gram::f16});
  CHECK(plan("auto_bf16", 1e9) == tile);
  CHECK(plan("auto_bf16", 1e9, 1) == tile);
  CHECK(plan("auto_bf16", 1e9, 23) == tile);
  CHECK(plan("auto_bf16", 1e9, 24) == half);
  CHECK(plan("auto_bf16", 1e9, 24, true, false) == tile);
  CHECK(plan("auto", 1e9, 1) == tile);
  CHECK(plan("auto", 1e9, 24) == half);
  CHECK(plan("auto", 1e9, 24, true, false) == tile);
  CHECK(plan("bf16", 1e9, 96, false) == mixed);
  CHECK(plan("bf16", 1e9, 95, false) == f64);
  CHECK(plan("residual=f64,jacobian=bf16", 1e9, 96) == mixed);
  CHECK(plan("residual=f64,jacobian=bf16", 1e9, 95) == f64);
  CHECK(plan("conservative", 1e9, 512) == wide);
  PrecisionPolicy not_adaptive;
  not_adaptive.adaptive = false;
  CHECK(initial_plan(not_adaptive, {1e12}) == f64);
  FitSize linear{1e12};
  linear.linear = true;
  CHECK(initial_plan(PrecisionPolicy::parse("auto"), linear) == f64);
  CHECK(initial_plan(PrecisionPolicy::parse("f32"), linear) == wide);
}

TEST_CASE("whatever the numbers, NaN included, no plan goes down") {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> exponent(-20, 20), share(0, 0.02);
  std::bernoulli_distribution coin(0.8), rare(0.05);
  const auto number = [&] { return rare(random) ? std::nan("") : std::pow(10, exponent(random)); };
  int moved = 0;
  for (int round = 0; round < 5000; ++round) {
    for (const PrecisionPlan plan : all) {
      HealthReport h;
      h.plan = plan;
      h.finite = coin(random);
      h.factored = coin(random);
      h.nonfinite_tiles = share(random);
      h.kappa_lambda = number();
      h.nu = number();
      h.gradient_noise = number();
      h.grid_noise = number();
      h.cost_noise = number();
      h.predicted = number();
      h.parameters = 1 + static_cast<int>(random() % 64);
      h.undecided_in_a_row = static_cast<int>(random() % 4);
      h.stalled = !coin(random);
      h.lambda = number();
      h.epsilon_j = number();
      h.contraction = number();
      h.wasted = number();
      h.relative_distance = number();
      const Decision d = next_plan(h, {});
      REQUIRE(d.plan.residual >= plan.residual);
      REQUIRE(d.plan.gram >= plan.gram);
      REQUIRE((d.plan == plan) == (d.event == Event::none));
      REQUIRE(d.plan == next_plan(h, {}).plan);
      moved += d.plan != plan;
    }
  }
  CHECK(moved > 1000);
}

TEST_CASE("a number that is not one never counts as good enough") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const PrecisionPlan plan : {tile, wide}) {
    for (double HealthReport::*field :
         {&HealthReport::kappa_lambda, &HealthReport::nu, &HealthReport::gradient_noise,
          &HealthReport::grid_noise, &HealthReport::cost_noise, &HealthReport::predicted,
          &HealthReport::nonfinite_tiles, &HealthReport::contraction}) {
      HealthReport h = healthy(plan);
      REQUIRE(next_plan(h, {}).plan == plan);
      h.*field = nan;
      CHECK(next_plan(h, {}).plan != plan);
    }
  }
  HealthReport h = healthy({Format::f64, Gram::f64});
  h.kappa_lambda = nan;
  CHECK(next_plan(h, {}).plan.gram == Gram::qr);
}
