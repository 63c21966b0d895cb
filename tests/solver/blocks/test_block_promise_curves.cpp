// Tests curves as residual blocks, from starts where columns of J shrink by orders of magnitude on the way.
// If success is claimed, the minimum must be there.
#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

struct Exponential {
  static constexpr int residuals = 1;
  double t, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::exp;
    r[0] = p[0] * exp(p[1] * t) - y;
    return true;
  }
};

struct Power {
  static constexpr int residuals = 1;
  double t, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::pow;
    r[0] = p[0] * pow(T(t), p[1]) - y;
    return true;
  }
};

// Measures a point seen by cameras that stand side by side and look along z.
struct Sight {
  static constexpr int residuals = 2;
  double place, u, v;
  template <class T>
  bool operator()(const T* point, T* r) const {
    r[0] = 500.0 * (point[0] - place) / point[2] - u;
    r[1] = 500.0 * point[1] / point[2] - v;
    return true;
  }
};

template <class F>
std::vector<F> curve(double a, double b, double first, double step, int count, double sigma) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  std::vector<F> rows;
  for (int i = 0; i < count; ++i) {
    F f{first + step * i, 0};
    const double p[2] = {a, b};
    double value = 0;
    f(p, &value);
    f.y = value + sigma * normal(random);
    rows.push_back(f);
  }
  return rows;
}

struct Outcome {
  Summary summary;
  double cost = 0, x[3] = {};
};

template <class F>
Outcome fit(const std::vector<F>& rows, std::vector<double> start, const char* policy = "f64") {
  Problem problem;
  for (const F& f : rows) problem.add_residual_block(f, nullptr, {BlockRef(start)});
  SolverOptions options;
  options.precision = PrecisionPolicy::parse(policy);
  options.threads = 1;
  Outcome out;
  out.summary = solve(problem, options);
  out.cost = problem.evaluate().cost;
  std::copy(start.begin(), start.end(), out.x);
  return out;
}

// Checks that the least cost does not contradict a claim. At 0.1 standard errors the cost is higher by 0.005
// σ².
template <class F>
void check_promise(const Outcome& found, double least, const std::vector<F>& rows, std::size_t parameters) {
  const double variance = 2 * least / static_cast<double>(rows.size() - parameters);
  CAPTURE(found.summary.message);
  CAPTURE(found.cost);
  CAPTURE(least);
  if (is_success(found.summary.verdict)) CHECK(found.cost <= least + 0.005 * variance + 1e-9 * least);
}

}  // namespace

TEST_CASE("An exponential that begins far too steep ends at the minimum") {
  const auto rows = curve<Exponential>(1, 0.5, 0, 8.0 / 29, 30, 0.1);
  const double least = fit(rows, {1, 0.5}).cost;
  for (const char* policy : {"f64", "auto"}) {
    for (const double b : {2.0, 4.4, 5.0, 8.0, 12.0}) {
      CAPTURE(b);
      CAPTURE(policy);
      const Outcome found = fit(rows, {1, b}, policy);
      check_promise(found, least, rows, 2);
      if (b < 5) CHECK(found.summary.verdict == Verdict::converged);
    }
  }
}

TEST_CASE("A power that begins far too steep ends at the minimum, or claims nothing") {
  const auto rows = curve<Power>(2, 1.5, 1, 0.5, 30, 0.05);
  const double least = fit(rows, {2, 1.5}).cost;
  for (const double b : {-20.0, -5.0, 5.0, 10.0, 20.0, 40.0}) {
    for (const double a : {1e-3, 1.0, 100.0}) {
      CAPTURE(a);
      CAPTURE(b);
      check_promise(fit(rows, {a, b}), least, rows, 2);
    }
  }
}

TEST_CASE("A point that begins a millimetre before a camera ends where it is seen, or claims nothing") {
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  const double truth[3] = {0.3, -0.2, 5};
  std::vector<Sight> rows;
  for (const double place : {0.0, 0.4, 0.8, 1.2}) {
    Sight sight{place, 0, 0};
    double seen[2];
    sight(truth, seen);
    rows.push_back({place, seen[0] + 0.3 * normal(random), seen[1] + 0.3 * normal(random)});
  }
  const double least = fit(rows, {0.3, -0.2, 5}).cost;
  for (const double depth : {1e-3, -1e-3, 1e-2, 0.1, 100.0, 1e5}) {
    CAPTURE(depth);
    const Outcome found = fit(rows, {0.3, -0.2, depth});
    const double variance = 2 * least / 5;
    CAPTURE(found.summary.message);
    CAPTURE(found.x[2]);
    if (is_success(found.summary.verdict)) CHECK(found.cost <= least + 0.005 * variance);
  }
}
