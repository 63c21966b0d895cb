// Tests that each block and each parameter is judged by itself, so that none hides behind a large one.
#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

SolverOptions in_f64() {
  SolverOptions options;
  options.precision = PrecisionPolicy::parse("f64");
  options.threads = 1;
  return options;
}

// Data that lie outside the functor, and may change between solves.
struct Measured {
  static constexpr int residuals = 1;
  double t;
  const double* y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    r[0] = p[0] + p[1] * t - *y;
    return true;
  }
};

// Measures a clock's offset. Decays beside it do not depend on it.
struct Tick {
  static constexpr int residuals = 1;
  double read;
  template <class T>
  bool operator()(const T* clock, T* r) const {
    r[0] = clock[0] - read;
    return true;
  }
};

struct Decay {
  static constexpr int residuals = 1;
  double t, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::exp;
    r[0] = p[0] * exp(-p[1] * t) + p[2] - y;
    return true;
  }
};

// Measures the distance of a point from a circle in map coordinates, around a place a million metres away.
struct OnCircle {
  static constexpr int residuals = 1;
  double x, y;
  template <class T>
  bool operator()(const T* centre, const T* radius, T* r) const {
    using std::sqrt;
    const T dx = centre[0] - x, dy = centre[1] - y;
    r[0] = sqrt(dx * dx + dy * dy) - radius[0];
    return true;
  }
};

}  // namespace

TEST_CASE("Data that change between two solves are seen, however large a residual beside them is") {
  std::vector<double> y;
  for (int i = 0; i < 40; ++i) y.push_back(1 + 0.5 * i + 0.01 * std::sin(7.0 * i));
  y[7] = 3e9;
  double p[2] = {0, 0};
  Problem problem;
  for (std::size_t i = 0; i < y.size(); ++i)
    problem.add_residual_block(Measured{static_cast<double>(i), &y[i]}, Loss::cauchy(0.1), {p});
  CHECK(is_success(solve(problem, in_f64()).verdict));
  CHECK(p[0] == doctest::Approx(1).epsilon(0.02));
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (i != 7) y[i] += 0.7;
  }
  const Summary again = solve(problem, in_f64());
  CAPTURE(again.message);
  CHECK(is_success(again.verdict));
  CHECK(p[0] == doctest::Approx(1.7).epsilon(0.02));
}

TEST_CASE("A precisely determined clock of 1.7e9 s does not loosen the test of the other parameters") {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  std::vector<Decay> decays;
  for (int i = 0; i < 40; ++i)
    decays.push_back({0.1 * i, 3 * std::exp(-0.8 * 0.1 * i) + 1 + 0.05 * normal(random)});
  const auto cost_from = [&](double a, double b, double c, bool with_clock, Summary* told) {
    double clock[1] = {1.7e9}, p[3] = {a, b, c};
    Problem problem;
    for (const Decay& d : decays) problem.add_residual_block(d, nullptr, {p});
    if (with_clock) {
      for (int i = 0; i < 20; ++i) problem.add_residual_block(Tick{1.7e9 + 0.05 * i}, nullptr, {clock});
    }
    const Summary summary = solve(problem, in_f64());
    if (told != nullptr) *told = summary;
    double r = 0, cost = 0;
    for (const Decay& d : decays) {
      d(p, &r);
      cost += 0.5 * r * r;
    }
    return cost;
  };
  const double least = cost_from(3, 0.8, 1, false, nullptr);
  for (const double b : {0.01, 0.1, 3.0, 10.0, 30.0}) {
    CAPTURE(b);
    Summary told;
    const double found = cost_from(1, b, 0, true, &told);
    CAPTURE(told.message);
    if (is_success(told.verdict)) CHECK(found <= least * (1 + 1e-4));
  }
}

TEST_CASE("Map coordinates of a million metres do not loosen the tests") {
  std::mt19937 random(4);
  std::normal_distribution<double> normal;
  std::vector<OnCircle> rows;
  for (int i = 0; i < 60; ++i) {
    const double angle = 0.01 * i;  // a short arc: centre and radius are nearly confounded
    rows.push_back({4.6e6 + 50 * std::cos(angle) + 0.01 * normal(random),
                    5.3e6 + 50 * std::sin(angle) + 0.01 * normal(random)});
  }
  const auto solved = [&](double dx, double dy, double radius, Summary& told) {
    double centre[2] = {4.6e6 + dx, 5.3e6 + dy}, size[1] = {radius};
    Problem problem;
    for (const OnCircle& row : rows) problem.add_residual_block(row, nullptr, {centre, size});
    told = solve(problem, in_f64());
    return problem.evaluate().cost;
  };
  Summary told;
  const double least = solved(0, 0, 50, told);
  CAPTURE(told.message);
  CHECK(is_success(told.verdict));
  for (const double away : {-1e4, -100.0, 10.0, 30.0}) {
    CAPTURE(away);
    const double found = solved(away, away, 50 + std::fabs(away), told);
    CAPTURE(told.message);
    CAPTURE(found);
    CAPTURE(least);
    if (is_success(told.verdict)) CHECK(found <= least * (1 + 1e-3));
  }
}
