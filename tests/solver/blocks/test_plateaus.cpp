// Tests that residual blocks are not certified where derivatives vanish although the cost can fall: at the
// start, on a plateau, and behind a loss that gives all residuals of a parameter no weight. Also tests bounds
// on curved parts of manifolds, which may not move a number away from its manifold.
#include <nlsq/certify.hpp>
#include <nlsq/error.hpp>
#include <nlsq/manifold.hpp>
#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>
#include <random>

using namespace nlsq;

namespace {

// Adds two residuals that determine y. Alone they have their least cost at y = 1.
void add_known(Problem& problem, double* y) {
  problem.add_parameter_block(y, 1);
  for (const double value : {1.1, 0.9})
    problem.add_residual_block([value](const auto* v) { return v[0] - value; }, nullptr, {y});
}

}  // namespace

TEST_CASE("A start without any derivative is left, or is no success") {
  for (const int power : {2, 3, 5}) {
    for (const double c : {-1.0, 0.1, 1.0, 10.0}) {
      CAPTURE(power);
      CAPTURE(c);
      double x = 0, y = 5;
      Problem problem;
      problem.add_parameter_block(&x, 1);
      problem.add_residual_block(
          [power, c](const auto* v) {
            using std::abs;
            auto term = v[0] * abs(v[0]);  // a square that keeps its sign, or an odd power
            if (power > 2) term = v[0] * v[0] * v[0];
            if (power == 5) term = term * v[0] * v[0];
            return term + c;
          },
          nullptr, {&x});
      add_known(problem, &y);
      const Summary s = solve(problem);
      const double best = -std::copysign(std::pow(std::fabs(c), 1.0 / power), c);
      CHECK((!is_success(s.verdict) || std::fabs(x - best) < 1e-3 * std::fabs(best)));
    }
  }
}

TEST_CASE("A plateau is no minimum, though gradient and curvature vanish there together") {
  for (const double start : {1.0, 3.0, 10.0}) {
    CAPTURE(start);
    double x = start, y = 1;
    Problem problem;
    problem.add_parameter_block(&x, 1);
    problem.add_residual_block([](const auto* v) { return v[0] * v[0] * v[0] + 1.0; }, nullptr, {&x});
    add_known(problem, &y);
    SolverOptions options;
    options.ftol = 1e-6;
    const Summary s = solve(problem, options);
    CHECK((!is_success(s.verdict) || std::fabs(x + 1) < 1e-3));
    x = 1e-3, y = 1;
    CHECK(!certify(problem).certificate.passed);
    x = -1, y = 1;
    CHECK(certify(problem).certificate.passed);
  }
}

TEST_CASE("A parameter whose residuals a loss leaves out is not determined, and the solve is no success") {
  for (const double start : {20.0, -3.0, 0.0}) {
    CAPTURE(start);
    double p = start, y = 0;
    Problem problem;
    problem.add_parameter_block(&p, 1);
    for (int i = 0; i < 6; ++i) {
      const double value = 5 + 0.1 * (i - 2.5);
      problem.add_residual_block([value](const auto* v) { return v[0] - value; }, Loss::tukey(1), {&p});
    }
    add_known(problem, &y);
    const Summary s = solve(problem);
    CHECK((!is_success(s.verdict) || std::fabs(p - 5) < 0.1));
  }
}

TEST_CASE("Rows that a loss leaves out everywhere hide nothing") {
  double x = 0, y = 0;
  Problem problem;
  problem.add_parameter_block(&x, 1);
  const auto nothing = Loss::own([](double) { return Loss::Value{0, 0}; });
  problem.add_residual_block([](const auto* v) { return v[0] - 3.0; }, nothing, {&x});
  add_known(problem, &y);
  CHECK(solve(problem).verdict == Verdict::rank_deficient);
}

TEST_CASE("Bounds keep unit vectors and quaternions on their manifolds") {
  const auto circle = [](double x0, double x1, double* x) {
    x[0] = x0, x[1] = x1;
    Problem problem;
    problem.add_parameter_block(x, 2, sphere_manifold(2));
    problem.set_lower_bound(x, 0, -0.2);
    problem.add_residual_block<2>(
        [](const auto* v, auto* r) {
          r[0] = v[0] + 0.3;
          r[1] = v[1] - 1.5;
        },
        nullptr, {x});
    return solve(problem);
  };
  double x[2];
  for (const auto& [x0, x1] : {std::pair(1.0, 0.0), std::pair(0.6, 0.8)}) {
    const Summary s = circle(x0, x1, x);
    CHECK(std::hypot(x[0], x[1]) == doctest::Approx(1).epsilon(1e-12));
    CHECK(s.verdict == Verdict::converged);
    CHECK(x[0] / x[1] == doctest::Approx(-0.2).epsilon(1e-6));  // the direction of (-0.3, 1.5)
  }
  CHECK_THROWS_WITH_AS(circle(-1, 0, x), doctest::Contains("outside its bounds"), ValidationError);

  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  int solved = 0;
  for (int run = 0; run < 200; ++run) {
    double q[4], target[4], length = 0, of_target = 0;
    for (int k = 0; k < 4; ++k) {
      q[k] = normal(random), target[k] = normal(random);
      length += q[k] * q[k], of_target += target[k] * target[k];
    }
    for (int k = 0; k < 4; ++k) q[k] /= std::sqrt(length), target[k] /= std::sqrt(of_target);
    const int bounded = run % 4;
    Problem problem;
    problem.add_parameter_block(q, 4, quaternion_manifold());
    problem.set_lower_bound(q, bounded, std::min(q[bounded], target[bounded]) - 0.1);
    problem.add_residual_block<4>(
        [&target, run](const auto* v, auto* r) {
          for (int k = 0; k < 4; ++k) r[k] = v[k] - target[k] * (1 + 0.01 * ((run + k) % 3));
        },
        nullptr, {q});
    const Summary s = solve(problem);
    double squares = 0;
    for (const double v : q) squares += v * v;
    CHECK(squares == doctest::Approx(1).epsilon(1e-9));
    solved += is_success(s.verdict) ? 1 : 0;
  }
  CHECK(solved >= 150);
}

TEST_CASE("A parameter that has an effect with the other sign alone is no success") {
  double x = -3, y = 0;
  Problem problem;
  problem.add_parameter_block(&x, 1);
  problem.add_residual_block(
      [](const auto* v) {
        using std::max;
        const auto positive = max(v[0], decltype(v[0] * 1.0)(0.0));
        return positive * positive - 4.0;
      },
      nullptr, {&x});
  add_known(problem, &y);
  const Summary s = solve(problem);
  CHECK((!is_success(s.verdict) || std::fabs(x - 2) < 1e-6));
}
