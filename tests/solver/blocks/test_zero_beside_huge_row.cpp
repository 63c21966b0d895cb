// Tests a row with huge terms and so huge rounding errors. The other residuals are not zero beside it.
#include <nlsq/certify.hpp>
#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using namespace nlsq;

namespace {

struct Fading {
  double t, y;
  template <class T>
  T operator()(const T* p, const T* level) const {
    using std::exp;
    return p[0] * exp(-p[1] * t) + level[0] - y;
  }
};

// The level is known to almost all digits.
struct KnownLevel {
  double weight;
  template <class T>
  T operator()(const T* level) const {
    return weight * (level[0] - 1.1);
  }
};

// Computes a weighted sum of three neighbours in a network.
struct Balance {
  double y;
  template <class T>
  T operator()(const T* a, const T* b, const T* c) const {
    return 2.5 * a[0] + 0.3 * b[0] - 0.7 * c[0] - y;
  }
};

struct Known {
  double value, weight;
  template <class T>
  T operator()(const T* a) const {
    return weight * (a[0] - value);
  }
};

}  // namespace

TEST_CASE(
    "Noise beside a row of weight 1e16 is no rounding error: a place beside the minimum is no minimum") {
  for (const double scatter : {0.05, 1e-4, 1e-7}) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      std::mt19937 random(seed);
      std::normal_distribution<double> noise(0, scatter);
      double p[2] = {3, 0.7}, level[1] = {1.1};
      Problem problem;
      for (int i = 0; i < 30; ++i) {
        const double y = 3 * std::exp(-0.14 * i) + 1.1 + noise(random);
        problem.add_residual_block(Fading{0.2 * i, y}, nullptr, {p, level});
      }
      problem.add_residual_block(KnownLevel{1e16}, nullptr, {level});
      CAPTURE(scatter);
      CAPTURE(seed);
      CHECK(is_success(solve(problem).verdict));
      CHECK(is_success(certify(problem).verdict));
      p[0] += scatter;  // one or two standard errors
      const Summary beside = certify(problem);
      CAPTURE(beside.certificate.governed_by);
      CAPTURE(beside.certificate.decrement_sigma);
      CHECK_FALSE(is_success(beside.verdict));
    }
  }
}

// Two rows of a decay, and one of weight 1e12 for its level, are as many rows as unknowns.
TEST_CASE("Without degrees of freedom every row is zero beside its own terms, or none is") {
  double p[2] = {3, 0.7}, level[1] = {1.1};
  Problem problem;
  for (const double t : {0.5, 2.0}) {
    problem.add_residual_block(Fading{t, 3 * std::exp(-0.7 * t) + 1.1}, nullptr, {p, level});
  }
  problem.add_residual_block(KnownLevel{1e12}, nullptr, {level});
  CHECK(is_success(certify(problem).verdict));
  p[0] += 1e-6;
  CHECK_FALSE(is_success(certify(problem).verdict));
  const Summary summary = solve(problem);
  CAPTURE(summary.certificate.governed_by);
  CHECK(is_success(summary.verdict));
  CHECK(p[0] == doctest::Approx(3).epsilon(1e-12));
  CHECK(p[1] == doctest::Approx(0.7).epsilon(1e-12));
}

// A parameter that is 0 is as inexact as its neighbours, so a row of such parameters has no large terms
// beside which it could be small.
TEST_CASE("Exact data of parameters that are mostly 0 are fitted exactly") {
  constexpr int kNodes = 30;
  std::size_t solves = 0, iterations = 0;
  for (const double size : {1.0, 1e3, 1e6, 1e9}) {
    for (const double weight : {1e-3, 1e-2, 1.0}) {
      for (unsigned seed = 0; seed < 5; ++seed) {
        std::mt19937 random(seed);
        std::normal_distribution<double> noise;
        double x[kNodes][1], truth[kNodes] = {};
        for (const int i : {3, 4, 11, 20}) truth[i] = size * noise(random);
        for (int i = 0; i < kNodes; ++i) x[i][0] = truth[i] + 0.1 * size * noise(random);
        Problem problem;
        for (int k = 0; k < kNodes + 6; ++k) {
          const int a = k % kNodes, b = (k * 7 + 1) % kNodes, c = (k * 11 + 2) % kNodes;
          if (a == b || b == c || a == c) continue;
          const double at[3][1] = {{truth[a]}, {truth[b]}, {truth[c]}};
          problem.add_residual_block(Balance{Balance{0}(at[0], at[1], at[2])}, nullptr, {x[a], x[b], x[c]});
        }
        for (int i = 0; i < kNodes; ++i) problem.add_residual_block(Known{truth[i], weight}, nullptr, {x[i]});
        const Summary summary = solve(problem);
        CAPTURE(size);
        CAPTURE(weight);
        CAPTURE(seed);
        CAPTURE(summary.message);
        CHECK(is_success(summary.verdict));
        ++solves;
        iterations += summary.iterations.size();
      }
    }
  }
  // Rounding decides when a single solve ends, and differs between instruction sets.
  CHECK(iterations < 30 * solves);
}

namespace {

// Measures a point of a straight line whose level belongs to its group.
struct Line {
  double x, y, weight;
  template <class T>
  T operator()(const T* level, const T* slope) const {
    return weight * (level[0] + slope[0] * x - y);
  }
};

// Adds twelve readings of two groups near 1e6, of slope 1.5. The second has this weight. Returns its x.
double add_lines(Problem& problem, double (&levels)[2][1], double (&slope)[1], double weight,
                 std::mt19937& random) {
  std::normal_distribution<double> noise(0, 0.04);
  std::uniform_real_distribution<double> place(49, 54);
  double heavy = 0;
  for (int i = 0; i < 12; ++i) {
    const double x = std::round(place(random) * 1000) / 1000, y = 1e6 + i % 2 + 1.5 * x + noise(random);
    if (i == 1) heavy = x;
    problem.add_residual_block(Line{x, y, i == 1 ? weight : 25.0}, nullptr, {levels[i % 2], slope});
  }
  return heavy;
}

}  // namespace

TEST_CASE("A row of huge weight does not hide the slope of the others") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    for (const double weight : {1.2e19, 1e17}) {
      std::mt19937 random(seed);
      double levels[2][1] = {{1e6 + 3 * 51.5}, {1e6 + 1}}, slope[1] = {-1.5};
      Problem problem;
      levels[1][0] += 3 * add_lines(problem, levels, slope, weight, random);
      levels[1][0] += 4e-4 * std::normal_distribution<double>()(random);
      CAPTURE(seed);
      CAPTURE(weight);
      if (is_success(solve(problem).verdict)) CHECK(std::fabs(slope[0] - 1.5) < 0.1);
    }
  }
}

TEST_CASE("Rounding errors of a heavy row that are larger than all other residuals are no minimum") {
  std::mt19937 random(3);
  double levels[2][1] = {{1e6}, {1e6 + 1}}, slope[1] = {1.5};
  Problem problem;
  add_lines(problem, levels, slope, 1e19, random);
  solve(problem);
  levels[1][0] = std::nextafter(levels[1][0], 2e6);
  const Summary summary = certify(problem);
  CHECK_FALSE(is_success(summary.verdict));
  CHECK(summary.message.find("huge weight") != std::string::npos);
}
