// The scheduler from numbers alone: every edge of its graph, the thresholds, and that no plan goes down.
#include <nlsq/scheduler.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

using namespace nlsq;

namespace {

constexpr PrecisionPlan half{Format::f32, Gram::bf16}, tile{Format::f32, Gram::f32_tile},
    wide{Format::f32, Gram::f32_wide}, f64{Format::f64, Gram::f64}, qr{Format::f64, Gram::qr};
constexpr PrecisionPlan all[] = {half, tile, wide, f64, qr};
constexpr PrecisionPlan mixed{Format::f64, Gram::bf16};  // f64 rows, J rounded for the Gram matrix alone

// Nothing wrong: digits to spare in any plan.
HealthReport healthy(PrecisionPlan plan) {
  HealthReport h;
  h.plan = plan;
  h.kappa_lambda = 10;
  h.nu = 1;
  h.predicted = 1;
  h.parameters = 4;
  return h;
}

void check_edge(const HealthReport& h, PrecisionPlan to, Event event) {
  const Decision d = next_plan(h, {});
  CHECK(d.plan == to);
  CHECK(d.event == event);
}

}  // namespace

TEST_CASE("a healthy fit stays in the plan it is in") {
  for (const PrecisionPlan plan : all) check_edge(healthy(plan), plan, Event::none);
}

TEST_CASE("overflow of f32 rows asks for f64 rows beyond one tile in a hundred") {
  for (const PrecisionPlan plan : {tile, wide}) {
    HealthReport h = healthy(plan);
    h.nonfinite_tiles = 0.01;
    check_edge(h, plan, Event::none);
    h.nonfinite_tiles = 0.0101;
    check_edge(h, f64, Event::overflow);
    h.nonfinite_tiles = 0;
    h.finite = false;
    check_edge(h, f64, Event::overflow);
  }
  // In f64 there are no more exponents to give: the step is at fault, not the format.
  HealthReport h = healthy(f64);
  h.finite = false;
  check_edge(h, f64, Event::none);
}

TEST_CASE("a matrix that is not positive definite takes the next wider Gram form") {
  const PrecisionPlan next[] = {tile, wide, f64, qr};
  for (int k = 0; k < 4; ++k) {
    HealthReport h = healthy(all[k]);
    h.factored = false;
    check_edge(h, next[k], Event::not_definite);
  }
  HealthReport h = healthy(qr);
  h.factored = false;
  check_edge(h, qr, Event::none);
}

TEST_CASE("a condition number beyond what a Gram form bears takes the next wider one") {
  const PrecisionPlan next[] = {wide, f64, qr};
  for (int k = 1; k < 4; ++k) {
    HealthReport h = healthy(all[k]);
    const double limit = condition_limit(all[k].gram, h.parameters);
    h.kappa_lambda = limit;
    check_edge(h, all[k], Event::none);
    h.kappa_lambda = std::nextafter(limit, INFINITY);
    check_edge(h, next[k - 1], Event::condition);
  }
  HealthReport h = healthy(qr);
  h.kappa_lambda = 1e200;
  check_edge(h, qr, Event::none);
}

TEST_CASE("the bound for sums in f32 is n u kappa <= 0.1, and each form bears more than the one before") {
  for (const int n : {1, 2, 8, 64, 512}) {
    CAPTURE(n);
    CHECK(n * 0x1p-24 * condition_limit(Gram::f32_tile, n) == doctest::Approx(0.1));
    CHECK(condition_limit(Gram::f32_wide, n) == doctest::Approx(2.8e12 / n));
    CHECK(condition_limit(Gram::f32_tile, n) < condition_limit(Gram::f32_wide, n));
    CHECK(condition_limit(Gram::f64, n) == 1e12);
    CHECK(condition_limit(Gram::f64, n) < condition_limit(Gram::qr, n));
  }
}

TEST_CASE("a gradient that is noise asks for f64, and f64 has none") {
  for (const PrecisionPlan plan : {tile, wide}) {
    HealthReport h = healthy(plan);
    h.nu = 2;
    h.gradient_noise = 0.2;
    check_edge(h, plan, Event::none);
    h.gradient_noise = 0.2001;
    check_edge(h, f64, Event::gradient_noise);
    h.gradient_noise = 0;
    h.grid_noise = 0.2;  // where the next point cannot be on the grid of f32
    check_edge(h, plan, Event::none);
    h.grid_noise = 0.2001;
    check_edge(h, f64, Event::gradient_noise);
  }
  HealthReport h = healthy(f64);
  h.gradient_noise = 1e9;
  check_edge(h, f64, Event::none);
}

TEST_CASE("steps that costs cannot judge ask for f64") {
  for (const PrecisionPlan plan : {tile, wide}) {
    HealthReport h = healthy(plan);
    h.cost_noise = 1;
    check_edge(h, plan, Event::none);
    h.cost_noise = 1.001;
    check_edge(h, f64, Event::cost_noise);
    h.cost_noise = 0;
    h.undecided_in_a_row = 1;
    check_edge(h, plan, Event::none);
    h.undecided_in_a_row = 2;
    check_edge(h, f64, Event::cost_noise);
  }
}

TEST_CASE("no progress in f32 asks for f64; in f64 it is the minimizer's affair") {
  for (const PrecisionPlan plan : all) {
    HealthReport h = healthy(plan);
    h.stalled = true;
    const bool low = plan.residual == Format::f32;
    check_edge(h, low ? f64 : plan, low ? Event::stalled : Event::none);
  }
}

TEST_CASE("of several reasons the one that asks for f64 rows at once is named first") {
  HealthReport h = healthy(tile);
  h.nonfinite_tiles = 0.5;
  h.factored = false;
  h.gradient_noise = 100;
  check_edge(h, f64, Event::overflow);
  h.nonfinite_tiles = 0;
  check_edge(h, wide, Event::not_definite);
}

TEST_CASE("what 16 bits of J bear the measured error says, whatever the condition number") {
  HealthReport h = healthy(half);
  h.kappa_lambda = 1e14;
  h.epsilon_j = 0.1;
  check_edge(h, half, Event::none);
  h.epsilon_j = 0.101;
  check_edge(h, tile, Event::jacobian_error);
  h.kappa_lambda = 1;
  check_edge(h, tile, Event::jacobian_error);
  h.epsilon_j = std::nan("");
  check_edge(h, tile, Event::jacobian_error);
}

TEST_CASE("a step that the rounding of J spoils asks for more of it; so does a rejection, sooner") {
  const PrecisionPlan next[] = {tile, wide, f64};
  for (int k = 0; k < 3; ++k) {
    HealthReport h = healthy(all[k]);
    h.contraction = 0.1;
    check_edge(h, all[k], Event::none);
    h.contraction = 0.11;
    check_edge(h, next[k], Event::jacobian_error);
    h.contraction = 0.06;
    check_edge(h, all[k], Event::none);
    h.rejected = true;
    check_edge(h, next[k], Event::rejected_step);
    h.contraction = 0.05;
    check_edge(h, all[k], Event::none);
  }
}

TEST_CASE("where the Gram matrix is what a pass costs, f64 rows keep a cheaper one until the end") {
  HealthReport h = healthy(half);
  h.parameters = 96;
  h.sixteen_bits_pay = true;
  h.gradient_noise = 0.5;
  check_edge(h, mixed, Event::gradient_noise);
  h.nearness = 1;  // two passes more will do
  check_edge(h, f64, Event::finishing);
  h.nearness = 1.1;
  h.parameters = 95;
  check_edge(h, f64, Event::gradient_noise);
  h = healthy(mixed);
  h.parameters = 96;
  check_edge(h, mixed, Event::none);
  h.stalled = true;  // the end of f64 rows, which is looked at with all digits anyway
  check_edge(h, mixed, Event::none);
  h = healthy(mixed);
  h.factored = false;
  check_edge(h, f64, Event::not_definite);  // forms of f32 save nothing under f64 rows
}

TEST_CASE("so near that undamped steps are trusted the next point is evaluated in f64") {
  HealthReport h = healthy(wide);
  h.nearness = 1;
  for (const double noise :
       {0.05, 0.5, 5.0}) {  // a pass in f64 at this point would cost as much and tell less
    h.gradient_noise = noise;
    const Decision d = next_plan(h, {});
    CHECK(d.event == Event::finishing);
    CHECK(d.at_trial);
    CHECK(d.plan == f64);
  }
  h.gradient_noise = 0.05;
  h.nearness = 1.1;
  check_edge(h, wide, Event::none);
}

TEST_CASE("descents: after enough good steps, with digits to spare, at most twice") {
  HealthReport h = healthy(tile);
  h.parameters = 64;
  h.sixteen_bits_pay = true;
  h.good_steps = 3;
  h.epsilon_j_below = 0.025;
  check_edge(h, half, Event::descent);
  CHECK(next_plan(h, {}).at_trial);
  const auto stays = [&](auto&& change) {
    HealthReport other = h;
    change(other);
    check_edge(other, tile, Event::none);
  };
  stays([](HealthReport& r) { r.good_steps = 2; });
  stays([](HealthReport& r) { r.epsilon_j_below = 0.026; });
  stays([](HealthReport& r) { r.sixteen_bits_pay = false; });
  stays([](HealthReport& r) { r.parameters = 15; });
  stays([](HealthReport& r) { r.descents = 2, r.good_steps = 1000; });
  h.descents = 1;
  check_edge(h, half, Event::descent);
  HealthReport f = healthy(wide);
  f.parameters = 64;
  f.good_steps = 3;
  check_edge(f, tile, Event::descent);
  f.plan = f64;
  f.lambda = 1;
  check_edge(f, f64, Event::none);
  f.plan = {Format::f64, Gram::f32_wide};
  check_edge(f, f.plan, Event::none);
  CHECK(next_plan(h, PrecisionPolicy::parse("floor.jacobian=f32")).event == Event::none);
  CHECK(next_plan(f, PrecisionPolicy::all_f64()).event == Event::none);
}

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
  h = healthy(f64);  // above it already: what the end needs is to be had
  h.kappa_lambda = 1e13;
  CHECK(next_plan(h, single_only).plan == qr);
}

TEST_CASE("rules come first, lower the Gram matrix no oftener than the scheduler, and rows never") {
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

TEST_CASE("once too much work was thrown away a promotion from f32 rows goes all the way") {
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
  CHECK(plan("auto", 2e6) == wide);
  CHECK(plan("auto", 2e6 * (1 - 1e-12)) == f64);
  CHECK(plan("f32", 0) == wide);
  CHECK(plan("gram=f32", 1e9) == tile);
  CHECK(plan("gram=f32", 1) == f64);
  CHECK(plan("f64", 1e12) == f64);
  CHECK(plan("residual=f64,gate=off", 1e12) == f64);
  CHECK(plan("f32", 1e12, 4, false) == f64);  // rows that exist in f64 alone
  CHECK(plan("bf16", 0) == half);
  CHECK(plan("always_f16", 0) == PrecisionPlan{Format::f32, Gram::f16});
  CHECK(plan("auto_bf16", 1e9) == wide);
  CHECK(plan("auto_bf16", 1e9, 15) == wide);
  CHECK(plan("auto_bf16", 1e9, 23) == tile);
  CHECK(plan("auto_bf16", 1e9, 24) == half);
  CHECK(plan("auto_bf16", 1e9, 24, true, false) == tile);
  CHECK(plan("auto", 1e9, 15) == wide);
  CHECK(plan("auto", 1e9, 16) == tile);
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

TEST_CASE("plans and the formats of their parts say the same") {
  for (const Gram gram : {Gram::f16, Gram::bf16, Gram::f32_tile, Gram::f32_wide, Gram::f64}) {
    for (const Format rows : {Format::f32, Format::f64}) {
      const PrecisionPlan plan{rows, gram};
      CHECK(plan_of(formats_of(plan)) == plan);
      CHECK(validate(formats_of(plan)).empty() == (rows == Format::f64 || gram != Gram::f64));
    }
  }
}

TEST_CASE("whatever the numbers, rows never go down, and a plan only by a descent, NaN included") {
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
      h.epsilon_j_below = number();
      h.contraction = number();
      h.wasted = number();
      h.nearness = number();
      h.good_steps = static_cast<int>(random() % 8);
      h.sixteen_bits_pay = coin(random);
      const Decision d = next_plan(h, {});
      REQUIRE(d.plan.residual >= plan.residual);
      REQUIRE((d.plan.gram >= plan.gram || d.event == Event::descent));
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

TEST_CASE(
    "a matrix that is never definite leads out of f32 within three moves, and plans and events have names") {
  for (const PrecisionPlan plan : {half, tile, wide}) {
    HealthReport h = healthy(plan);
    h.factored = false;
    h.plan = next_plan(h, {}).plan;
    for (int k = 0; k < 2 && h.plan.residual == Format::f32; ++k) h.plan = next_plan(h, {}).plan;
    CHECK(h.plan.residual == Format::f64);
  }
  CHECK(std::string_view(name(Gram::f32_wide)) == "f32/f64");
  CHECK(std::string_view(name(Gram::qr)) == "qr");
  CHECK(std::string_view(name(Event::none)).empty());
  CHECK(std::string_view(name(Event::gradient_noise)) == "gradient-noise");
}
