// Tests the loop on a scripted problem: what it asks for, at which x and in which precision, and how it uses
// the answers.
#include "minimizer/dense_system.hpp"
#include "minimizer/minimizer.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

#include "tables.hpp"

#include "scripted.hpp"

using namespace nlsq;
using tables::Table;
using namespace scripted;

TEST_CASE("a linear problem is solved by one Gauss-Newton step and certified") {
  Scripted problem(3, 1, mean_of({1, 2, 6}));
  SolverOptions options = in("f64");
  options.algorithm = Algorithm::gauss_newton;
  const MinimizerResult result = minimize(problem, {100}, options);
  CHECK(result.x[0] == doctest::Approx(3).epsilon(1e-14));
  CHECK(result.summary.accepted == 1);
  CHECK(result.summary.termination == Termination::converged);
  CHECK(result.summary.verdict == Verdict::converged);
  CHECK(result.summary.certificate.passed);
}

TEST_CASE(
    "a curved valley takes rejections; costs fall at every accepted step and the damping at good ones") {
  Scripted problem(3, 2, rosenbrock(1));
  const MinimizerResult result = minimize(problem, {-1.2, 1}, in("f64"));
  CHECK(result.x[0] == doctest::Approx(1).epsilon(1e-9));
  CHECK(result.x[1] == doctest::Approx(1).epsilon(1e-9));
  CHECK(result.summary.rejected > 0);
  const auto& trace = result.summary.iterations;
  for (std::size_t k = 1; k < trace.size(); ++k) {
    CHECK(trace[k].iteration == static_cast<int>(k));
    if (trace[k - 1].outcome == StepOutcome::rejected) {
      CHECK(trace[k].cost == trace[k - 1].cost);
      CHECK(trace[k].lambda > trace[k - 1].lambda);
    } else {
      CHECK(trace[k].cost < trace[k - 1].cost * (1 + 1e-14));
      if (trace[k - 1].rho > 0.5) CHECK(trace[k].lambda <= trace[k - 1].lambda);
    }
  }
}

TEST_CASE("a step out of the domain is invalid, not rejected, and shorter steps come back") {
  Scripted problem(2, 1, logarithm);
  const MinimizerResult result = minimize(problem, {5}, in("f64"));
  CHECK(result.summary.verdict == Verdict::converged);
  CHECK(result.x[0] == doctest::Approx(std::exp(-3.25)));
  const auto& trace = result.summary.iterations;
  CHECK(trace.front().outcome == StepOutcome::invalid);
  CHECK(std::isnan(trace.front().rho));
  for (std::size_t k = 1; k < trace.size(); ++k) {
    if (trace[k - 1].outcome != StepOutcome::invalid) continue;
    CHECK(trace[k].lambda >= 10 * trace[k - 1].lambda);
    CHECK(trace[k].cost == trace[k - 1].cost);
  }
  check_best_verified(problem, result, {5});
}

TEST_CASE("the iteration limit ends with the best point, verified, and no certificate") {
  for (const int limit : {0, 1, 3}) {
    CAPTURE(limit);
    Scripted problem(3, 2, rosenbrock(1));
    SolverOptions options = in("f64");
    options.max_iterations = limit;
    const MinimizerResult result = minimize(problem, {-1.2, 1}, options);
    CHECK(result.summary.termination == Termination::max_iterations);
    CHECK(result.summary.verdict == Verdict::budget);
    CHECK_FALSE(result.summary.certificate.passed);
    CHECK(result.summary.iterations.size() == static_cast<std::size_t>(limit));
    check_best_verified(problem, result, {-1.2, 1});
  }
  // If x0 is the minimum already, no iteration is needed to certify it.
  Scripted solved(3, 1, mean_of({1, 2, 6}));
  SolverOptions options = in("f64");
  options.max_iterations = 0;
  CHECK(minimize(solved, {3}, options).summary.verdict == Verdict::converged);
}

TEST_CASE("the time limit ends the iteration between steps") {
  Scripted problem(3, 2, rosenbrock(1));
  SolverOptions options = in("f64");
  options.max_seconds = 1e-9;
  const MinimizerResult result = minimize(problem, {-1.2, 1}, options);
  CHECK(result.summary.termination == Termination::time_limit);
  CHECK(result.summary.verdict == Verdict::budget);
  CHECK(result.x == Vector{-1.2, 1});
}

TEST_CASE("the callback sees every iteration and can stop") {
  Scripted problem(3, 2, rosenbrock(1));
  SolverOptions options = in("f64");
  std::vector<int> seen;
  options.callback = [&](const IterationSummary& it) {
    seen.push_back(it.iteration);
    return it.iteration == 3 ? Stop : Continue;
  };
  const MinimizerResult result = minimize(problem, {-1.2, 1}, options);
  CHECK(seen == std::vector<int>{0, 1, 2, 3});
  CHECK(result.summary.iterations.size() == 4);
  CHECK(result.summary.termination == Termination::user_stop);
  CHECK(result.summary.verdict == Verdict::budget);
  check_best_verified(problem, result, {-1.2, 1});
}

TEST_CASE("if no step decreases the cost, the loop ends and says so") {
  Scripted problem(3, 1, [](const Vector& x, Table& rows) {
    for (std::size_t i = 0; i < 3; ++i) {
      rows.columns[0][i] = -1;  // the derivative has the wrong sign
      rows.columns[1][i] = x[0] - static_cast<double>(i) - 5;
    }
  });
  const MinimizerResult result = minimize(problem, {0}, in("f64"));
  CHECK(result.summary.termination == Termination::no_progress);
  CHECK(result.summary.verdict == Verdict::budget);
  CHECK(result.x == Vector{0});
  CHECK(result.summary.iterations.size() < 100);
}

TEST_CASE("ftol ends as TOLERANCE: verified, first order not certified") {
  Scripted problem(3, 2, rosenbrock(100));
  SolverOptions options = in("f64");
  options.ftol = 0.01;  // the valley's cost is a hundredth of the constant's
  const MinimizerResult result = minimize(problem, {-1.2, 1}, options);
  CHECK(result.summary.termination == Termination::tolerance);
  CHECK(result.summary.verdict == Verdict::tolerance);
  CHECK_FALSE(is_success(result.summary.verdict));
  CHECK(result.summary.accepted == 1);
  check_best_verified(problem, result, {-1.2, 1});
}

TEST_CASE("a callable that disagrees with its program is not certified, however flat the gradient") {
  Scripted problem(3, 1, mean_of({1, 2, 6}));
  problem.checked = {.rows = 3, .largest = 1e-3, .discrepancy = 1, .magnitude = 10};
  const MinimizerResult result = minimize(problem, {100}, in("f64"));
  CHECK_FALSE(result.summary.certificate.recheck_passed);
  CHECK_FALSE(result.summary.certificate.passed);
  CHECK(result.summary.verdict == Verdict::failed);
  CHECK(result.summary.certificate.recheck_discrepancy == 1e-3);
}

TEST_CASE("exceptions of the problem pass through") {
  Scripted problem(3, 1, [](const Vector& x, Table& rows) {
    if (x[0] < 50) throw std::runtime_error("by the user");
    mean_of({1, 2, 6})(x, rows);
  });
  CHECK_THROWS_WITH_AS(minimize(problem, {100}, in("f64")), "by the user", std::runtime_error);
}

TEST_CASE("with one degree of freedom, a far point does not count as within a standard error") {
  // With m - n = 1, ν₀/σ <= 1 everywhere, because σ is computed from the distance itself. Undamped steps from
  // far leave the domain. If each of them raised the damping, the fit would end in ever smaller steps.
  Scripted problem(2, 1, logarithm);
  const MinimizerResult result = minimize(problem, {5}, in("f64"));
  CHECK(result.summary.verdict == Verdict::converged);
  CHECK(result.summary.iterations.size() < 20);
}

TEST_CASE("an undamped step that fails leaves the damping as it was") {
  // The point is near the optimum in units of σ, but the model bends, so the undamped step leads uphill.
  Scripted problem(40, 1, [](const Vector& x, Table& rows) {
    for (std::size_t i = 0; i < 40; ++i) {
      rows.columns[0][i] = i == 0 ? 1 / (1 + x[0] * x[0]) : 0;
      rows.columns[1][i] = i == 0 ? std::atan(x[0]) : 1 + 0.01 * static_cast<double>(i);
    }
  });
  const MinimizerResult result = minimize(problem, {2}, in("f64"));
  const auto& trace = result.summary.iterations;
  REQUIRE(trace.size() > 1);
  CHECK(trace[0].lambda == 0);
  CHECK(trace[0].outcome == StepOutcome::rejected);
  CHECK(trace[1].lambda == 1e-3);
  CHECK(is_success(result.summary.verdict));
  CHECK(std::fabs(result.x[0]) < 1e-6);
}

TEST_CASE("a zero residual is certified by its gradient, and a dead parameter does not stop the others") {
  Scripted exact(2, 2, [](const Vector& x, Table& rows) {
    rows.columns[0] = {1, 1};
    rows.columns[1] = {1, -1};
    rows.columns[2] = {x[0] + x[1] - 3, x[0] - x[1] - 1};
  });
  const MinimizerResult zero = minimize(exact, {10, 10}, in("f64"));
  CHECK(is_success(zero.summary.verdict));
  CHECK(zero.x[0] == doctest::Approx(2).epsilon(1e-13));

  Scripted dead(3, 2, [](const Vector& x, Table& rows) {
    rows.columns[0] = {1, 1, 1};
    rows.columns[1] = {0, 0, 0};
    rows.columns[2] = {x[0] - 1, x[0] - 2, x[0] - 6};
  });
  const MinimizerResult result = minimize(dead, {100, 7}, in("f64"));
  CHECK(result.summary.verdict == Verdict::rank_deficient);
  CHECK(result.x[0] == doctest::Approx(3).epsilon(1e-12));
  CHECK(result.x[1] == 7);
  CHECK(result.summary.certificate.rank == 1);
  CHECK(result.summary.certificate.confounded == std::vector<int>{1});
}

TEST_CASE("columns of very different sizes make no difference to the path") {
  const auto scaled = [](double unit) {
    return [unit](const Vector& x, Table& rows) {
      rosenbrock(1)({x[0], x[1] * unit}, rows);
      for (double& d : rows.columns[1]) d *= unit;
    };
  };
  Scripted plain(3, 2, scaled(1)), wild(3, 2, scaled(0x1p60));
  const MinimizerResult a = minimize(plain, {-1.2, 1}, in("f64")),
                        b = minimize(wild, {-1.2, 0x1p-60}, in("f64"));
  CHECK(a.summary.iterations.size() == b.summary.iterations.size());
  CHECK(a.x[0] == b.x[0]);
  CHECK(a.x[1] == b.x[1] * 0x1p60);
}
