// Tests the loop on a scripted problem: when it escalates to f64, and what it keeps when f64 contradicts f32.

#include "minimizer/dense_system.hpp"
#include "minimizer/minimizer.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tables.hpp"

#include "scripted.hpp"

using namespace nlsq;
using tables::Table;
using namespace scripted;

namespace {

// Returns the result of a probe: noise of the cost, and of each entry of the gradient.
Probe noisy(double cost_noise, const Vector& gradient_noise) {
  Probe probe;
  probe.cost_noise = cost_noise;
  probe.gradient_scatter = Matrix(gradient_noise.size(), gradient_noise.size());
  for (std::size_t j = 0; j < gradient_noise.size(); ++j) probe.gradient_scatter(j, j) = gradient_noise[j];
  return probe;
}

}  // namespace

TEST_CASE("a gradient that is noise escalates: the same x again in f64, no step, the same damping") {
  Scripted problem(3, 1, mean_of({1, 2, 6}));
  problem.probe_at = [](const Vector&) { return noisy(0, {1000}); };
  const MinimizerResult result = minimize(problem, {100}, in("f32"));
  const auto& trace = result.summary.iterations;
  REQUIRE(trace.size() >= 2);
  CHECK(trace[0].outcome == StepOutcome::escalated);
  CHECK(trace[0].event == Event::gradient_noise);
  CHECK(trace[0].reason.find("noise") != std::string::npos);
  CHECK(trace[0].plan.residual == Format::f32);
  CHECK(trace[1].plan == PrecisionPlan{Format::f64, Gram::f64});
  CHECK(trace[1].cost == trace[0].cost);
  CHECK(trace[1].lambda == trace[0].lambda);
  CHECK(result.summary.precision.escalations == 1);
  CHECK(result.summary.accepted + result.summary.rejected == static_cast<int>(trace.size()) - 1);
  CHECK(problem.calls[0].x == problem.calls[1].x);
  CHECK(problem.calls[0].plan.residual == Format::f32);
  CHECK(problem.calls[1].plan.residual == Format::f64);
  CHECK(problem.count(Format::f32) == 1);
  CHECK(result.x[0] == doctest::Approx(3).epsilon(1e-14));
}

TEST_CASE(
    "a gain ratio inside the noise is undecided: both costs again in f64, and twice running escalates") {
  // Near its minimum x² - 2 is nearly linear, so the decrease is the predicted one.
  Scripted problem(2, 1, [](const Vector& x, Table& rows) {
    rows.columns[0] = {2 * x[0], 0};
    rows.columns[1] = {x[0] * x[0] - 2, 1e-4};  // so small that x is never within a standard error
  });
  problem.probe_at = [](const Vector& x) {
    const double r = x[0] * x[0] - 2;  // for an undamped step, predicted = r²/2
    return noisy(0.95 * r * r / 2, {0});
  };
  SolverOptions options = in("f32");
  options.initial_lambda = 1e-9;
  const MinimizerResult result = minimize(problem, {2}, options);
  const auto& trace = result.summary.iterations;
  REQUIRE(trace.size() >= 3);
  CHECK(trace[0].outcome == StepOutcome::accepted);
  CHECK(trace[1].outcome == StepOutcome::accepted);
  CHECK(trace[2].outcome == StepOutcome::escalated);
  CHECK(trace[2].event == Event::cost_noise);
  // The loop asks for f32 at 2 and at the trial point, then for both costs in f64.
  REQUIRE(problem.calls.size() > 4);
  const Vector trial = problem.calls[1].x;
  CHECK(problem.calls[1].plan.residual == Format::f32);
  CHECK(problem.calls[2] == Scripted::Call{"cost", {2}, {Format::f64, Gram::f64}});
  CHECK(problem.calls[3] == Scripted::Call{"cost", trial, {Format::f64, Gram::f64}});
  CHECK(static_cast<double>(static_cast<float>(trial[0])) == trial[0]);  // on the f32 grid
  CHECK(result.x[0] == doctest::Approx(std::sqrt(2.0)).epsilon(2e-12));
}

TEST_CASE("a decrease beyond the noise is accepted in f32 without an f64 pass, an increase rejected") {
  Scripted problem(3, 2, rosenbrock(1));
  problem.probe_at = [](const Vector& x) {
    return std::fabs(x[0] - 1) < 1e-2 ? noisy(1e-6, {1e3, 1e3}) : noisy(1e-6, {0, 0});
  };
  const MinimizerResult result = minimize(problem, {-1.2, 1}, in("f32,threshold.checkpoint_steps=1000"));
  bool rejected = false, was_low = true;
  for (const IterationSummary& it : result.summary.iterations) {
    const bool low = it.plan.residual == Format::f32;
    CHECK((was_low || !low));  // it never goes back to f32
    was_low = low;
    rejected = rejected || (low && it.outcome == StepOutcome::rejected);
  }
  CHECK(rejected);
  bool in_f64 = false;
  for (const auto& call : problem.calls) {
    if (call.plan.residual == Format::f64) in_f64 = true;
    else CHECK_FALSE(in_f64);
  }
  CHECK(result.summary.verdict == Verdict::converged);
  CHECK(result.x[0] == doctest::Approx(1).epsilon(1e-9));
}

TEST_CASE("an f32 path that led away is taken back to the checkpoint when f64 shows it") {
  // There are two basins. The start is in the good one, but f32 sees a slope that leads into the bad one.
  Scripted problem(2, 1, [](const Vector& x, Table& rows) {
    rows.columns[0] = {1, 0};
    rows.columns[1] = x[0] < 2 ? Vector{x[0] + 1, 0.5} : Vector{x[0] - 4, 3};
  });
  problem.low = [](const Vector& x, Table& rows) {
    rows.columns[0] = {0.25, 0};
    rows.columns[1] = {0.25 * (x[0] - 4), 0.5};
  };
  problem.probe_at = [](const Vector& x) { return noisy(0, {x[0] > 3 ? 1000.0 : 0.0}); };
  const MinimizerResult result = minimize(problem, {0}, in("f32"));
  int rollbacks = 0;
  for (const IterationSummary& it : result.summary.iterations) rollbacks += it.event == Event::rollback;
  CHECK(rollbacks == 1);
  CHECK(result.summary.verdict == Verdict::converged);
  CHECK(result.x[0] == doctest::Approx(-1).epsilon(1e-12));
  check_best_verified(problem, result, {0});
  // If no iterations are left to correct it, the start is returned.
  SolverOptions options = in("f32");
  options.max_iterations = 3;
  Scripted again = problem;
  const MinimizerResult stopped = minimize(again, {0}, options);
  check_best_verified(again, stopped, {0});
}

TEST_CASE("an f32 path that led astray in the right basin goes on from where it is") {
  // f32 has its minimum at 4, but the true one is at -1.
  Scripted problem(3, 1, mean_of({-2, -1, 0}));
  problem.low = mean_of({-2, -1, 0}, 5);
  problem.probe_at = [](const Vector& x) { return noisy(0, {x[0] > 3 ? 1000.0 : 0.0}); };
  const MinimizerResult result = minimize(problem, {0}, in("f32"));
  CHECK(result.x[0] == doctest::Approx(-1).epsilon(1e-12));
  check_best_verified(problem, result, {0});
}

TEST_CASE("a bias of the gradient that is measured well is taken out, and one lost in the scatter is not") {
  const auto first_f64_point = [](double scatter) {
    Scripted problem(3, 1, mean_of({-2, -1, 0}));
    problem.low = mean_of({-2, -1, 0}, 0.5);
    problem.probe_at = [scatter](const Vector&) {
      Probe probe = noisy(0, {scatter});
      probe.gradient_bias = {-3 * 0.5};
      return probe;
    };
    SolverOptions options = in("f32");
    options.initial_lambda = 1e-9;
    const MinimizerResult result = minimize(problem, {50}, options);
    CHECK(result.x[0] == doctest::Approx(-1).epsilon(1e-12));
    for (const auto& call : problem.calls) {
      if (call.plan.residual == Format::f64 && call.x[0] != 50) return call.x[0];
    }
    return 50.0;
  };
  CHECK(std::fabs(first_f64_point(0.1) + 1) < 0.01);
  CHECK(std::fabs(first_f64_point(1) + 0.5) < 0.01);
}

TEST_CASE("a point from which the next one is expected near the optimum is the last below f64") {
  // From far away ν₀/σ is nearly 100, and close by it is 100 x. A step leaves about bend x².
  constexpr std::size_t kRows = 10000;
  const auto model = [](double bend) {
    return [bend](const Vector& x, Table& rows) {
      for (std::size_t i = 0; i < kRows; ++i) {
        rows.columns[0][i] = 1 + 2 * bend * x[0];
        rows.columns[1][i] = x[0] + bend * x[0] * x[0] + (i % 2 == 0 ? 1 : -1);
      }
    };
  };
  const auto low_points = [&](double bend) {
    Scripted problem(kRows, 1, model(bend));
    SolverOptions options = in("f32");
    options.initial_lambda = 1e-9;
    const MinimizerResult result = minimize(problem, {3}, options);
    CHECK(result.summary.verdict == Verdict::converged);
    int low = 0;
    for (const auto& call : problem.calls) {
      low += std::string_view(call.what) == "linearize" && call.plan.residual == Format::f32;
    }
    return low;
  };
  CHECK(low_points(0.0025) == 2);  // 95, 2.2 and then 1e-4 standard errors
  CHECK(low_points(0.02) == 3);    // 95, 16 and then 0.05; after 16, the next may be too far
}

TEST_CASE("a point that is better in f64 too is kept at escalation") {
  Scripted problem(3, 1, mean_of({-2, -1, 0}));
  problem.low = mean_of({-2, -1, 0}, 0.25);
  problem.probe_at = [](const Vector& x) { return noisy(0, {x[0] < 5 ? 1000.0 : 0.0}); };
  const MinimizerResult result = minimize(problem, {50}, in("f32"));
  for (const auto& call : problem.calls) CHECK((call.plan.residual == Format::f32 || call.x[0] < 5));
  CHECK(result.x[0] == doctest::Approx(-1).epsilon(1e-12));
}

TEST_CASE(
    "rows not finite in f32 at the start are taken in f64; in f64 it is a failure that leaves x alone") {
  Scripted problem(2, 1, logarithm);
  problem.low = [](const Vector&, Table& rows) { rows.columns[1][0] = INFINITY; };
  const MinimizerResult fine = minimize(problem, {5}, in("f32"));
  CHECK(fine.summary.verdict == Verdict::converged);
  CHECK(problem.count(Format::f32) == 1);

  Scripted outside(2, 1, logarithm);
  const MinimizerResult failed = minimize(outside, {-1}, in("f64"));
  CHECK(failed.summary.termination == Termination::failure);
  CHECK(failed.summary.verdict == Verdict::failed);
  CHECK_FALSE(failed.summary.certificate.passed);
  CHECK(failed.x == Vector{-1});
  CHECK(failed.summary.iterations.empty());
  CHECK(outside.calls.size() == 1);
}

TEST_CASE("a limit reached in f32 still verifies the point in f64") {
  Scripted problem(3, 2, rosenbrock(1));
  SolverOptions options = in("f32");
  options.max_iterations = 2;
  const MinimizerResult result = minimize(problem, {-1.2, 1}, options);
  CHECK(result.summary.verdict == Verdict::budget);
  CHECK(problem.calls.back().plan.residual == Format::f64);
  CHECK(problem.calls.back().x == result.x);
  check_best_verified(problem, result, {-1.2, 1});
}

TEST_CASE("no progress in f32 is no verdict: f64 takes over") {
  Scripted problem(3, 1, mean_of({1, 2, 6}));
  problem.low = [](const Vector& x, Table& rows) {
    mean_of({1, 2, 6})(x, rows);
    for (double& d : rows.columns[0]) d = -d;
  };
  const MinimizerResult result = minimize(problem, {100}, in("f32"));
  CHECK(result.x[0] == doctest::Approx(3).epsilon(1e-14));
  CHECK(result.summary.verdict == Verdict::converged);
}
