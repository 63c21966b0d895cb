// The scheduler from numbers alone: every edge of its graph, the thresholds, and that no plan goes down.
#include <nlsq/scheduler.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

using namespace nlsq;

namespace {

constexpr PrecisionPlan tile{Format::f32, Gram::f32_tile}, wide{Format::f32, Gram::f32_wide},
    f64{Format::f64, Gram::f64}, qr{Format::f64, Gram::qr};
constexpr PrecisionPlan all[] = {tile, wide, f64, qr};

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
  const Decision d = next_plan(h);
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
  const PrecisionPlan next[] = {wide, f64, qr};
  for (int k = 0; k < 3; ++k) {
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
  for (int k = 0; k < 3; ++k) {
    HealthReport h = healthy(all[k]);
    const double limit = condition_limit(all[k].gram, h.parameters);
    h.kappa_lambda = limit;
    check_edge(h, all[k], Event::none);
    h.kappa_lambda = std::nextafter(limit, INFINITY);
    check_edge(h, next[k], Event::condition);
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

TEST_CASE("the entry gate sends small problems to f64, and nothing else does") {
  const PrecisionPolicy automatic, f32 = PrecisionPolicy::parse("f32"),
                                   tiles = PrecisionPolicy::parse("gram=f32");
  CHECK(initial_plan(automatic, kEntryGateWork, true) == wide);
  CHECK(initial_plan(automatic, kEntryGateWork * (1 - 1e-12), true) == f64);
  CHECK(initial_plan(f32, 0, true) == wide);
  CHECK(initial_plan(tiles, 1e9, true) == tile);
  CHECK(initial_plan(tiles, 1, true) == f64);
  CHECK(initial_plan(PrecisionPolicy::all_f64(), 1e12, true) == f64);
  CHECK(initial_plan(PrecisionPolicy::parse("residual=f64,gate=off"), 1e12, true) == f64);
  CHECK(initial_plan(f32, 1e12, false) == f64);  // rows that exist in f64 alone
  PrecisionPolicy not_adaptive;
  not_adaptive.adaptive = false;
  CHECK(initial_plan(not_adaptive, 1e12, true) == f64);
}

TEST_CASE("whatever the numbers, a plan never goes down, NaN included") {
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
      h.cost_noise = number();
      h.predicted = number();
      h.parameters = 1 + static_cast<int>(random() % 64);
      h.undecided_in_a_row = static_cast<int>(random() % 4);
      h.stalled = !coin(random);
      const Decision d = next_plan(h);
      REQUIRE(d.plan.residual >= plan.residual);
      REQUIRE(d.plan.gram >= plan.gram);
      REQUIRE((d.plan == plan) == (d.event == Event::none));
      REQUIRE(d.plan == next_plan(h).plan);
      moved += d.plan != plan;
    }
  }
  CHECK(moved > 1000);
}

TEST_CASE("a number that is not one never counts as good enough") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const PrecisionPlan plan : {tile, wide}) {
    for (double HealthReport::*field : {&HealthReport::kappa_lambda, &HealthReport::nu, &HealthReport::gradient_noise,
                                        &HealthReport::cost_noise, &HealthReport::predicted, &HealthReport::nonfinite_tiles}) {
      HealthReport h = healthy(plan);
      REQUIRE(next_plan(h).plan == plan);
      h.*field = nan;
      CHECK(next_plan(h).plan != plan);
    }
  }
  HealthReport h = healthy({Format::f64, Gram::f64});
  h.kappa_lambda = nan;
  CHECK(next_plan(h).plan.gram == Gram::qr);
}

TEST_CASE("every event leads out of f32 within two moves, and plans and events have names") {
  for (const PrecisionPlan plan : {tile, wide}) {
    HealthReport h = healthy(plan);
    h.factored = false;
    h.plan = next_plan(h).plan;
    if (h.plan.residual == Format::f32) h.plan = next_plan(h).plan;
    CHECK(h.plan.residual == Format::f64);
  }
  CHECK(std::string_view(name(Gram::f32_wide)) == "f32/f64");
  CHECK(std::string_view(name(Gram::qr)) == "qr");
  CHECK(std::string_view(name(Event::none)).empty());
  CHECK(std::string_view(name(Event::gradient_noise)) == "gradient-noise");
}
