// Tests Nielsen's rule for the damping, the rule for the radius, and steps that may raise the cost, by their
// defining properties. Tests the gain ratio by slopes, too.
#include "minimizer/nonmonotonic.hpp"
#include "minimizer/step_rules.hpp"
#include "minimizer/trust_region.hpp"

#include <doctest/doctest.h>

#include <cmath>

using nlsq::TrustRegion;

TEST_CASE("the gain ratio by slopes is exact where the slope changes linearly, and lies between 0 and 1") {
  // The cost is ½ curvature s² - s, and the model took its curvature for 1, so its step is 1.
  const auto along = [](double curvature) { return nlsq::rules::gain_by_slopes(-1, curvature - 1, 0.5); };
  CHECK(along(1) == 1);
  CHECK(along(1.5) == doctest::Approx(0.5));
  CHECK(along(3) == 0);
  CHECK(along(0.5) == 1);
  CHECK(nlsq::rules::gain_by_slopes(-1, 0, 0) == 1);
}

TEST_CASE("a perfect step divides the damping by three, a mediocre one keeps it") {
  TrustRegion trust(0.3);
  trust.accepted(1);
  CHECK(trust.lambda() == doctest::Approx(0.1));
  trust.accepted(0.5);
  CHECK(trust.lambda() == doctest::Approx(0.1));
}

TEST_CASE("the damping after an accepted step falls with the gain ratio, up to the factor two of a bad one") {
  double last = 3;
  for (const double rho : {1e-4, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0}) {
    TrustRegion trust(1);
    trust.accepted(rho);
    CHECK(trust.lambda() <= last);
    last = trust.lambda();
  }
  TrustRegion bad(1);
  bad.accepted(0);
  CHECK(bad.lambda() == doctest::Approx(2));
  TrustRegion better_than_predicted(1);
  better_than_predicted.accepted(50);
  CHECK(better_than_predicted.lambda() == doctest::Approx(1.0 / 3));
}

TEST_CASE("rejections in a row raise the damping by 2, 4, 8 ..., and an accepted step ends the row") {
  TrustRegion trust(1);
  for (const double expected : {2.0, 8.0, 64.0}) {
    trust.rejected();
    CHECK(trust.lambda() == expected);
  }
  trust.accepted(0.5);
  trust.rejected();
  CHECK(trust.lambda() == 128);
}

TEST_CASE("an invalid step multiplies by ten and does not count as a rejection") {
  TrustRegion trust(1);
  trust.rejected();
  trust.rejected();
  trust.invalid();
  CHECK(trust.lambda() == 80);
  trust.rejected();
  CHECK(trust.lambda() == 160);
  TrustRegion undamped(0);
  undamped.invalid();
  CHECK(undamped.lambda() == doctest::Approx(1e-3));
}

TEST_CASE("zero damping can grow, and growth ends in exhaustion") {
  TrustRegion trust(0);
  CHECK_FALSE(trust.exhausted());
  int rejections = 0;
  while (!trust.exhausted() && rejections < 100) {
    trust.rejected();
    ++rejections;
  }
  CHECK(trust.exhausted());
  CHECK(rejections < 20);
  CHECK(std::isfinite(trust.lambda()));
}

TEST_CASE("damping never leaves its bounds, and restore forgets the rejections") {
  TrustRegion trust(1e-20);
  for (int k = 0; k < 50; ++k) trust.accepted(1);
  CHECK(trust.lambda() >= TrustRegion::kMin);
  trust.rejected();
  trust.rejected();
  trust.restore(0.25);
  CHECK(trust.lambda() == 0.25);
  trust.rejected();
  CHECK(trust.lambda() == 0.5);
}

TEST_CASE(
    "a radius trebles after a good step, halves after a bad or a rejected one, and ends in exhaustion") {
  TrustRegion trust(TrustRegion::kMin);
  CHECK_FALSE(trust.by_radius());
  trust.start_radius(8);
  CHECK(trust.by_radius());
  trust.accepted(0.9, 8);
  CHECK(trust.radius() == 24);
  trust.accepted(0.9, 1);  // a short undamped step leaves the radius as it is
  CHECK(trust.radius() == 24);
  trust.accepted(0.5, 24);
  CHECK(trust.radius() == 24);
  trust.accepted(0.1, 6);
  CHECK(trust.radius() == 3);
  trust.rejected(2, true);  // half of the step's length, if that is shorter
  CHECK(trust.radius() == 1);
  trust.rejected(1, false);
  CHECK(trust.radius() == doctest::Approx(0.1));
  trust.forgive();
  CHECK(trust.radius() == 3);
  trust.reach(5);
  CHECK(trust.radius() == 5);
  int rejections = 0;
  for (; !trust.exhausted() && rejections < 200; ++rejections) trust.rejected(trust.radius(), true);
  CHECK(rejections < 200);
}

TEST_CASE(
    "steps may rise above the cost as far as the highest of the last few, and are judged by what was "
    "promised since") {
  nlsq::Nonmonotonic steps(2);
  CHECK(steps.on());
  steps.start(10);
  CHECK(steps.decrease(12) == -2);
  CHECK(steps.accepted(6, 5));    // this is the least so far
  CHECK(steps.decrease(8) == 2);  // relative to 10
  CHECK(steps.promised(1) == 6);
  CHECK_FALSE(steps.accepted(8, 1));
  CHECK(steps.decrease(9) == 1);  // 10 still counts, because it is two steps away
  CHECK(steps.promised(0.5) == 6.5);
  CHECK_FALSE(steps.accepted(7, 2));
  CHECK(steps.decrease(7.5) == doctest::Approx(0.5));  // relative to 8
  CHECK(steps.promised(0) == 2);
  CHECK(steps.accepted(5, 1));
  steps.end();
  CHECK_FALSE(steps.on());
  CHECK_FALSE(steps.started());
  CHECK_FALSE(nlsq::Nonmonotonic(0).on());
}
