// Tests how solving a problem of blocks ends if functors throw, fail or do not repeat, and if a budget runs
// out.

#include <bal.hpp>

#include <nlsq/curve_fit.hpp>
#include <nlsq/error.hpp>
#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

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

// Describes a point of a circle, and a free number. The two columns of plus_jacobian are multiplied by
// factors.
struct CircleAndNumber final : Manifold {
  double of_angle, of_number;
  CircleAndNumber(double a, double b) : of_angle(a), of_number(b) {}
  int ambient() const override { return 3; }
  int tangent() const override { return 2; }
  void plus(const double* x, const double* d, double* out) const override {
    const double c = std::cos(d[0]), s = std::sin(d[0]), x0 = x[0], x1 = x[1];
    out[0] = c * x0 - s * x1, out[1] = s * x0 + c * x1, out[2] = x[2] + d[1];
  }
  void plus_jacobian(const double* x, double* J) const override {
    J[0] = -x[1] * of_angle, J[2] = x[0] * of_angle, J[5] = of_number;
    J[1] = J[3] = J[4] = 0;
  }
};

struct Decay {
  static constexpr int residuals = 1;
  double t, y;
  template <class T>
  bool operator()(const T* x, T* r) const {
    using std::exp;
    r[0] = x[0] * t + 0.5 * x[1] * t * t + exp(-x[2] * t) - y;
    return true;
  }
};

}  // namespace

// Programs know their derivatives, but these are multiplied by the manifold's.
TEST_CASE("A wrong plus_jacobian is named, and nothing is certified") {
  for (const auto [of_angle, of_number] :
       {std::pair(1.0, 1.0), {0.0, 1.0}, {-1.0, 1.0}, {1.0, 0.0}, {1.0, -1.5}, {0.5, 1.5}}) {
    CAPTURE(of_angle);
    CAPTURE(of_number);
    double x[3] = {1, 0, 0.8};
    Problem problem;
    problem.add_parameter_block(x, 3, std::make_shared<CircleAndNumber>(of_angle, of_number));
    for (int i = 0; i < 20; ++i) {
      const double t = 0.2 * i, noise = 0.01 * ((i * 7) % 5 - 2),
                   y = std::cos(0.6) * t + 0.5 * std::sin(0.6) * t * t + std::exp(-0.5 * t) + noise;
      problem.add_residual_block<1>(Decay{t, y}, nullptr, {x});
    }
    const Summary summary = solve(problem);
    INFO(summary.message);
    const bool right = of_angle > 0 && of_number > 0;  // A factor of a column only scales a tangent number.
    CHECK(is_success(summary.verdict) == right);
    CHECK(summary.certificate.passed == right);
    const bool named = summary.message.find("plus_jacobian of the manifold of parameter block 0") == 0;
    CHECK(named == !right);
  }
}

TEST_CASE("Manifolds are right where steps are long for their numbers") {
  for (const double size : {1e-9, 1.0, 1e9}) {
    CAPTURE(size);
    double x[3] = {size, 0, 0.8};
    Problem problem;
    problem.add_parameter_block(x, 3, std::make_shared<CircleAndNumber>(1, 1));
    for (int i = 0; i < 20; ++i) {
      problem.add_residual_block<2>(
          [=](const auto* p, auto* r) {
            r[0] = p[0] / size - 0.6 + 0.01 * (i % 3) + 0.1 * (p[2] - 0.5);
            r[1] = p[1] / size - 0.8 - 0.3 * (p[2] - 0.5);
          },
          nullptr, {x});
    }
    const Summary summary = solve(problem);
    INFO(summary.message);
    CHECK(summary.verdict == Verdict::converged);
  }
}

TEST_CASE("Exceptions of a functor pass through, and the parameters are as they were") {
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

// Residuals that are zero but for rounding are compared with the size of their terms. If the changes of two
// terms cancelled in the one direction that measured them, right programs were mistaken for wrong ones.
TEST_CASE("Programs whose residuals are zero but for rounding are not taken for wrong ones") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto share = [&random] { return static_cast<double>(random()) * 0x1p-32; };
    const double truth[3] = {0.5 + 3 * share(), 0.2 + share(), 2 * share() - 1};
    double p[3] = {truth[0], truth[1], truth[2]};
    Problem problem;
    for (int i = 0; i < 300; ++i) {
      const double t = 0.02 * i, y = truth[0] * std::exp(-truth[1] * t) + truth[2];
      problem.add_residual_block<1>(
          [t, y](const auto* q, auto* r) {
            using std::exp;
            r[0] = q[0] * exp(-q[1] * t) + q[2] - y;
            return true;
          },
          nullptr, {p});
    }
    const Summary summary = solve(problem);
    CAPTURE(seed);
    for (int j = 0; j < 3; ++j) CHECK(p[j] == doctest::Approx(truth[j]).epsilon(1e-12));
    CHECK(summary.evaluator_note.find("not recorded") == std::string::npos);
  }
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
