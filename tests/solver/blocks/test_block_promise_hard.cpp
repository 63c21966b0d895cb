// Tests Moré, Garbow and Hillstrom's problems as residual blocks, and other block problems that once did not
// reach their minimum.
#include "mgh.hpp"

#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace nlsq;
namespace mgh = problems::mgh;

namespace {

struct Outcome {
  Summary summary;
  double squares = 0;
};

template <class F>
Outcome solve_from(std::vector<double> start, double tolerance = 0) {
  Problem problem;
  problem.add_residual_block<F::residuals>(F{}, nullptr, {BlockRef(start)});
  SolverOptions options;
  options.threads = 1;
  options.ftol = tolerance;
  options.max_iterations = 500;
  Outcome out{solve(problem, options), 0};
  out.squares = 2 * problem.evaluate().cost;
  return out;
}

template <class F>
void check_reached() {
  for (const double scale : {1.0, 10.0, 100.0}) {
    std::vector<double> start(F::start.begin(), F::start.end());
    for (double& v : start) v *= scale;
    const Outcome found = solve_from<F>(start);
    CAPTURE(std::string(F::name));
    CAPTURE(scale);
    CAPTURE(found.summary.message);
    CAPTURE(found.squares);
    bool reached = mgh::reached(F::minimum, found.squares, 0);
    if constexpr (requires { F::local_minimum; })
      reached = reached || mgh::reached(F::local_minimum, found.squares, 0);
    if (scale == 1) CHECK(reached);
    if (scale == 1) CHECK(is_success(found.summary.verdict));
    // A success elsewhere must at least be within 0.1 standard errors of the linear model's minimum.
    if (is_success(found.summary.verdict))
      CHECK((reached || found.summary.certificate.decrement_sigma <= 0.1));
    if (found.summary.termination == Termination::converged) CHECK(found.summary.certificate.passed);
  }
}

// This is Ceres's TolerantLoss, for which ρ'' > 0 everywhere.
Loss tolerant(double a, double b) {
  return Loss::own([a, b](double s) {
    const double x = (s - a) / b, c = b * std::log1p(std::exp(-a / b));
    const double e = std::exp(-std::fabs(x)), log = std::log1p(e) + std::fmax(x, 0.0);
    return Loss::Value{b * log - c, x > 0 ? 1 / (1 + e) : e / (1 + e)};
  });
}

// The same loss as Ceres computes it. Small values are lost beside the 1 in the logarithm.
Loss tolerant_beside_one(double a, double b) {
  return Loss::own([a, b](double s) {
    const double e = std::exp((s - a) / b);
    return Loss::Value{b * std::log(1 + e) - b * std::log(1 + std::exp(-a / b)), e / (1 + e)};
  });
}

struct Line {
  static constexpr int residuals = 1;
  double t, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    r[0] = p[0] + p[1] * t - y;
    return true;
  }
};

struct Bent {
  template <class T>
  bool operator()(const T* p, T* r) const {
    r[0] = p[0] + p[1] - 5.0;
    r[1] = 0.5 * (p[0] - p[1]) + p[2];
    r[2] = 3.0 * (p[1] - 4.0);
    return true;
  }
};

}  // namespace

TEST_CASE("Problems of large residuals end certified at their minimum") {
  check_reached<mgh::FreudensteinRoth>();
  check_reached<mgh::JennrichSampson>();
  check_reached<mgh::KowalikOsborne>();
  check_reached<mgh::BrownDennis>();
  check_reached<mgh::Meyer>();
  check_reached<mgh::OsborneOne>();
  check_reached<mgh::OsborneTwo>();
  check_reached<mgh::Bard>();
}

TEST_CASE("A result called converged has passed its certificate") {
  for (const double start : {10.0, 3.0, -10.0, 30.0}) {
    for (const double tolerance : {0.0, 1e-18}) {
      const Outcome found = solve_from<mgh::Beale>({start, start}, tolerance);
      CAPTURE(start);
      CAPTURE(found.summary.message);
      if (found.summary.termination == Termination::converged) CHECK(found.summary.certificate.passed);
      if (is_success(found.summary.verdict))
        CHECK((found.summary.certificate.decrement_sigma <= 0.1 || found.squares < 1e-20));
      CHECK(found.summary.message.find("BUDGET by") == std::string::npos);
    }
  }
}

TEST_CASE("A column of norm 4e-44 is damped like any other") {
  const Outcome found = solve_from<mgh::PowellBadlyScaled>({0, 100});
  CAPTURE(found.summary.message);
  // On this side of the valley the cost falls to 1e-8 at infinity. The fit reaches that, and must not call it
  // a minimum.
  CHECK(found.squares < 1.001e-8);
  CHECK(!is_success(found.summary.verdict));
}

TEST_CASE("A loss whose slope grows is minimised to the digits of the cost") {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  double p[2] = {5, -3};
  Problem problem;
  for (int i = 0; i < 50; ++i)
    problem.add_residual_block(Line{0.1 * i, 1 + 0.1 * i + normal(random)}, tolerant(4, 0.01), {p});
  SolverOptions options;
  options.threads = 1;
  const Summary summary = solve(problem, options);
  const double found = problem.evaluate().cost;
  CAPTURE(summary.message);
  CHECK(is_success(summary.verdict));
  CHECK(summary.accepted + summary.rejected < 100);
  // No point near has a lower cost.
  for (int k = 0; k < 16; ++k) {
    double q[2] = {p[0], p[1]};
    for (const double h : {1e-2, 1e-3, 1e-4}) {
      p[0] = q[0] + h * std::cos(0.4 * k), p[1] = q[1] + h * std::sin(0.4 * k);
      CHECK(problem.evaluate().cost >= found * (1 - 1e-12));
    }
    p[0] = q[0], p[1] = q[1];
  }
}

TEST_CASE("Bounds of numbers that a subset manifold lets move are an active set like any other") {
  double p[3] = {0, 0, 1};
  Problem problem;
  problem.add_parameter_block(BlockRef(p), subset_manifold(3, {2}));
  problem.add_residual_block<3>(Bent{}, nullptr, {p});
  problem.set_upper_bound(p, 1, 2);
  const Summary summary = solve(problem);
  CAPTURE(summary.message);
  CHECK(is_success(summary.verdict));
  CHECK(p[1] == 2);
  CHECK(p[0] == doctest::Approx(2.4).epsilon(1e-9));  // the minimum of ½(a - 3)² + ⅛a²
  CHECK(p[2] == 1);
}

// Fits a line with outliers. One row in three has no loss.
Summary with_loss(const Loss& loss, double noise = 0.3) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(0, noise);
  double p[2] = {1, 1};
  Problem problem;
  problem.add_parameter_block(p, 2);
  for (int i = 0; i < 60; ++i) {
    const double outlier = noise > 0 && i % 5 == 0 ? 3 : 0;
    const Line row{0.1 * i, 1 + 0.2 * i + normal(random) + outlier};
    problem.add_residual_block<1>(row, i % 3 == 0 ? Loss() : loss, {p});
  }
  return solve(problem);
}

TEST_CASE("A loss whose slope is not that of its values certifies nothing, and the message says so") {
  const auto soft = [](double times) {
    return Loss::own([times](double s) {
      const double root = std::sqrt(1 + s);
      return Loss::Value{2 * (root - 1), times / root};
    });
  };
  for (const double times : {0.5, 0.9, 1.1, 2.0}) {
    const Summary summary = with_loss(soft(times));
    CAPTURE(times);
    CAPTURE(summary.message);
    CHECK_FALSE(is_success(summary.verdict));
    CHECK(summary.message.find("a loss gives at s = ") != std::string::npos);
    CHECK(summary.certificate.wrong_loss);
    CHECK(summary.certificate.wrong_column == -1);
  }
  const Loss never_flat = Loss::own([](double s) { return Loss::Value{std::fmin(s, 4.0), 1}; });
  CHECK_FALSE(is_success(with_loss(never_flat).verdict));
  // Kinks, flat parts and values that are lost in rounding do not prove a slope wrong.
  const Loss truncated = Loss::own([](double s) {
    return s < 0.5 ? Loss::Value{s, 1} : Loss::Value{0.5, 0};
  });
  const Loss cauchy = Loss::own([](double s) { return Loss::Value{std::log(1 + s), 1 / (1 + s)}; });
  const Loss welsch = Loss::own([](double s) { return Loss::Value{1 - std::exp(-s), std::exp(-s)}; });
  const Loss constant = Loss::own([](double) { return Loss::Value{3, 0}; });
  for (const double noise : {0.3, 1e-7, 1e-10, 0.0}) {
    for (const Loss& loss : {soft(1), tolerant(1, 0.5), truncated, cauchy, welsch, constant}) {
      CAPTURE(noise);
      CHECK(with_loss(loss, noise).message.find("a loss gives") == std::string::npos);
    }
  }
  CHECK(is_success(with_loss(soft(1)).verdict));
  CHECK(is_success(with_loss(cauchy).verdict));
}

TEST_CASE("A tolerant loss that rounding makes a staircase is not called wrong") {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal(0, 0.008);
  double p[2] = {1, 0.2};
  Problem problem;
  problem.add_parameter_block(p, 2);
  for (int i = 0; i < 200; ++i)
    problem.add_residual_block<1>(Line{0.03 * i, 1 + 0.2 * 0.03 * i + normal(random)},
                                  tolerant_beside_one(3, 0.1), {p});
  const Summary summary = solve(problem);
  CAPTURE(summary.message);
  CHECK_FALSE(summary.certificate.wrong_loss);
}
