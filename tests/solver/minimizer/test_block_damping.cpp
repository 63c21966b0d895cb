// Tests how the damping of a block problem falls after good steps, with invented numbers.
#include <minimizer/minimizer.hpp>

#include <doctest/doctest.h>

#include <cstddef>

#include "scripted_system.hpp"

using namespace nlsq;
using scripted::ScriptedSystem;

namespace {

MinimizerResult minimize(ScriptedSystem& system, double x0, const SolverOptions& options) {
  MinimizerResult out;
  const Vector start{x0};
  Minimizer().run(system, {.options = options, .x0 = start, .begin = std::chrono::steady_clock::now()}, out);
  return out;
}

}  // namespace

TEST_CASE("a step of gain 0.6 halves a block problem's damping, but not within three steps of a rejection") {
  ScriptedSystem system;
  system.apart = true;
  system.undamped_step_usable = false;
  // The step of damping 1 leads from 50 to 25 and is rejected. The steps after it have a gain ratio of 0.6.
  system.cost_at = [](double x) { return x == 25 ? 1e9 : 1 + 0.18 * x * x; };
  SolverOptions options;
  options.precision = PrecisionPolicy::parse("f64");
  options.initial_lambda = 1;
  options.max_iterations = 7;
  const MinimizerResult result = minimize(system, 50, options);
  REQUIRE(system.dampings.size() >= 7);
  CHECK(result.summary.rejected == 1);
  CHECK(system.dampings[1] == doctest::Approx(2));
  for (std::size_t k = 2; k < 5; ++k) {
    const double rho = result.summary.iterations[k - 1].rho, t = 2 * rho - 1;
    CHECK((rho > 0.5 && rho < 0.7));
    CHECK(system.dampings[k] == doctest::Approx(system.dampings[k - 1] * (1 - t * t * t)));
  }
  CHECK(system.dampings[5] < 0.5 * system.dampings[4]);

  ScriptedSystem smooth;
  smooth.apart = true;
  smooth.undamped_step_usable = false;
  smooth.cost_at = [](double x) { return 1 + 0.18 * x * x; };
  options.initial_lambda = 2;
  minimize(smooth, 50, options);
  REQUIRE(smooth.dampings.size() >= 2);
  CHECK(smooth.dampings[1] < 0.5 * smooth.dampings[0]);
}

// Half the damping is already too little: the cost rises behind a wall that moves along with x. A rule that
// halves the damping after each good step has every second step rejected.
TEST_CASE("where half the damping is too little, few steps of a block problem are rejected") {
  ScriptedSystem system;
  system.apart = true;
  system.undamped_step_usable = false;
  double at = 1000;  // the point from which steps start
  system.slope_at = [&at](double x) { return at = x; };
  system.cost_at = [&at](double x) { return x < 0.6 * at ? 1e9 : 1 + 0.18 * x * x; };
  SolverOptions options;
  options.precision = PrecisionPolicy::parse("f64");
  options.initial_lambda = 2;  // leads to 2/3 of x; half the damping leads to half of x
  options.max_iterations = 12;
  const MinimizerResult result = minimize(system, at, options);
  CHECK(result.summary.accepted >= 8);
  CHECK(result.summary.rejected <= 4);
}
