// How solving a problem of blocks ends where functors throw, fail or do not repeat, and where a budget runs
// out.

#include <bal.hpp>

#include <nlsq/curve_fit.hpp>
#include <nlsq/error.hpp>
#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "bal_blocks.hpp"

using namespace nlsq;
using namespace bal_blocks;

namespace {

struct Fragile {
  static constexpr int residuals = 1;
  std::shared_ptr<std::atomic<int>> calls;
  bool operator()(const double* p, double* r) const {
    if (++*calls > 7) throw std::runtime_error("sensor gone");
    r[0] = p[0] * p[0] - 2;
    return true;
  }
};

struct Log {
  static constexpr int residuals = 1;
  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::log;
    if (p[0] <= 0.0) return false;
    r[0] = log(p[0]) - 1.0;
    return true;
  }
};

struct Drifts {
  static constexpr int residuals = 1;
  std::shared_ptr<std::atomic<int>> calls = std::make_shared<std::atomic<int>>(0);
  template <class T>
  bool operator()(const T* p, T* r) const {
    r[0] = p[0] - 1.0 - 0.01 * static_cast<double>(++*calls);
    return true;
  }
};

}  // namespace

TEST_CASE("What a functor throws passes through, and the parameters are as they were") {
  double p[1] = {5};
  Problem problem;
  problem.add_residual_block<1>(Fragile{std::make_shared<std::atomic<int>>(0)}, nullptr, {p});
  CHECK_THROWS_WITH_AS(solve(problem), "sensor gone", std::runtime_error);
  CHECK(p[0] == 5);
}

TEST_CASE("No residuals at the start is a failure; at a trial point the step is rejected") {
  for (const double start : {-1.0, 20.0}) {
    double p[1] = {start};
    Problem problem;
    problem.add_residual_block(Log(), nullptr, {p});
    const Summary summary = solve(problem);
    if (start < 0) {
      CHECK(summary.termination == Termination::failure);
      CHECK(summary.verdict == Verdict::failed);
      CHECK(p[0] == -1);
    } else {
      CHECK(p[0] == doctest::Approx(std::exp(1.0)).epsilon(1e-10));
      CHECK(is_success(summary.verdict));
    }
  }
}

TEST_CASE("Functors that do not repeat are never certified") {
  double p[1] = {5};
  Problem problem;
  problem.add_residual_block(Drifts(), nullptr, {p});
  const Summary summary = solve(problem);
  CHECK(summary.verdict == Verdict::failed);
  CHECK_FALSE(summary.certificate.recheck_passed);
}

TEST_CASE("Budgets and the callback end the iteration with the best point") {
  for (const int how : {0, 1, 2}) {
    bal::Problem scene = bal::generate(6, 80, 400, 7);
    Problem problem;
    add_all(problem, scene);
    SolverOptions options;
    if (how == 0) options.max_iterations = 2;
    if (how == 1)
      options.callback = [](const IterationSummary& it) { return it.iteration == 1 ? Stop : Continue; };
    if (how == 2) options.max_seconds = 1e-9;
    const Summary summary = solve(problem, options);
    CHECK(summary.termination == (how == 0   ? Termination::max_iterations
                                  : how == 1 ? Termination::user_stop
                                             : Termination::time_limit));
    CHECK(summary.verdict == Verdict::budget);
    CHECK(summary.final_cost <= summary.initial_cost);
    CHECK(problem.evaluate().cost == doctest::Approx(summary.final_cost).epsilon(1e-12));
  }
}
