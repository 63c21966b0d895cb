// Tests the scheduler by numbers alone: every edge of its graph, the thresholds, and that no plan goes down.
#include <nlsq/scheduler.hpp>

#include <doctest/doctest.h>

#include <cmath>

#include "scheduler_plans.hpp"

using namespace nlsq;
using namespace scheduler_plans;

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
  // f64 has the largest range of exponents, so the step is at fault and not the format.
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

TEST_CASE("f32 rows with f64 sums are left out where they cost nearly as much as f64") {
  HealthReport h = healthy(tile);
  h.kappa_lambda = std::nextafter(condition_limit(tile.gram, h.parameters), INFINITY);
  h.wide_price = 0.85;
  check_edge(h, wide, Event::condition);
  h.wide_price = 0.86;
  check_edge(h, f64, Event::condition);
  // With a ceiling below f64, only that form is left.
  PrecisionPolicy policy;
  policy.ceiling = formats_of(wide);
  CHECK(next_plan(h, policy, {}).plan == wide);
}

TEST_CASE(
    "near the optimum a condition number somewhat too large ends f32 at the next point, not at this one") {
  HealthReport h = healthy(tile);
  const double limit = condition_limit(tile.gram, h.parameters);
  h.relative_distance = 1;
  h.kappa_lambda = 10 * limit;
  Decision decision = next_plan(h, {}, {});
  CHECK(decision.plan == f64);
  CHECK(decision.event == Event::finishing);
  CHECK(decision.at_trial);
  h.kappa_lambda = 10.001 * limit;
  decision = next_plan(h, {}, {});
  CHECK(decision.event == Event::condition);
  CHECK_FALSE(decision.at_trial);
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

TEST_CASE("with many columns and rows, the errors of f32 sums are like random numbers") {
  const auto limit = [](int n, double rows) { return condition_limit(Gram::f32_tile, n, {}, rows); };
  const auto errors = [&](int n, double rows) { return 0.1 / (0x1p-24 * limit(n, rows)); };
  CHECK(errors(63, 1e9) == doctest::Approx(63));  // few columns: all errors may agree
  CHECK(errors(512, 0) == doctest::Approx(512));  // a block problem
  CHECK(errors(512, 256) == doctest::Approx(2 * std::sqrt(256 / 3.0 * 512)));  // one tile
  CHECK(errors(512, 1e9) == doctest::Approx(std::sqrt(512.0)));
  CHECK(errors(128, 256) == doctest::Approx(128));  // never more than if they agree
  for (const double rows : {1e3, 1e4, 1e5, 1e6}) CHECK(errors(512, 10 * rows) <= errors(512, rows));
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
    h.grid_noise = 0.2;  // here the next point cannot be represented in f32
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

TEST_CASE("if there are several reasons, one that asks for f64 rows at once is named first") {
  HealthReport h = healthy(tile);
  h.nonfinite_tiles = 0.5;
  h.factored = false;
  h.gradient_noise = 100;
  check_edge(h, f64, Event::overflow);
  h.nonfinite_tiles = 0;
  check_edge(h, wide, Event::not_definite);
}

TEST_CASE("the measured error decides whether J may have 16 bits, whatever the condition number") {
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

TEST_CASE(
    "rows that go to f64 take the Gram matrix along; a fit that began with f64 rows keeps a cheaper one") {
  HealthReport h = healthy(half);
  h.parameters = 96;
  h.gradient_noise = 0.5;
  check_edge(h, f64, Event::gradient_noise);
  h.relative_distance = 1;  // two more passes are enough
  check_edge(h, f64, Event::finishing);
  h = healthy(mixed);
  h.parameters = 96;
  check_edge(h, mixed, Event::none);
  h.stalled = true;  // f64 rows end here, and the end is checked with all digits anyway
  check_edge(h, mixed, Event::none);
  h = healthy(mixed);
  h.factored = false;
  check_edge(h, f64, Event::not_definite);  // forms of f32 save nothing under f64 rows
}

TEST_CASE("so near that undamped steps are trusted the next point is evaluated in f64") {
  HealthReport h = healthy(wide);
  h.relative_distance = 1;
  for (const double noise :
       {0.05, 0.5, 5.0}) {  // a pass in f64 at this point would cost as much and tell less
    h.gradient_noise = noise;
    const Decision d = next_plan(h, {});
    CHECK(d.event == Event::finishing);
    CHECK(d.at_trial);
    CHECK(d.plan == f64);
  }
  h.gradient_noise = 0.05;
  h.relative_distance = 1.1;
  check_edge(h, wide, Event::none);
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
