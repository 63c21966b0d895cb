// Tests a row of weight 1e15, which makes J look rank-deficient in float64, although other rows determine
// what it does not. The distance along the directions that J does not show is unknown, so nothing is
// certified.
#include <nlsq/certify.hpp>
#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <random>
#include <vector>

using namespace nlsq;

namespace {

struct HeavySum {
  double weight;
  template <class T>
  T operator()(const T* p) const {
    return weight * (p[0] + p[1] - 3.0);
  }
};

struct LightDifference {
  double t, y;
  template <class T>
  T operator()(const T* p) const {
    return t * (p[0] - p[1]) - y;
  }
};

// Determines p0 - p1 everywhere but where they are equal.
struct FlatDifference {
  template <class T>
  T operator()(const T* p) const {
    const T d = p[0] - p[1];
    return d * d * d / (1.0 + d * d) - 1.0;
  }
};

struct Third {
  double c;
  template <class T>
  T operator()(const T* p) const {
    return p[2] - c;
  }
};

Summary certified(double weight, double p0, bool differences) {
  std::mt19937 random(3);
  std::normal_distribution<double> noise(0, 0.01);
  double p[2] = {p0, 3 - p0};
  Problem problem;
  problem.add_residual_block(HeavySum{weight}, nullptr, {p});
  for (int i = 0; i < 20; ++i) {
    if (differences)
      problem.add_residual_block(LightDifference{0.1 * i, -0.1 * i + noise(random)}, nullptr, {p});
    else problem.add_residual_block(HeavySum{1 + noise(random)}, nullptr, {p});
  }
  return certify(problem);
}

}  // namespace

TEST_CASE(
    "Parameters that only light rows determine are not certified as undetermined beside a row of weight "
    "1e15") {
  for (const double weight : {1.0, 1e8, 1e15, 1e18}) {
    const Summary beside = certified(weight, 1.25, true);
    CAPTURE(weight);
    CAPTURE(beside.certificate.governed_by);
    CAPTURE(beside.certificate.rank);
    CHECK_FALSE(is_success(beside.verdict));
  }
}

TEST_CASE("Directions that no row determines are still found beside a row of weight 1e15") {
  for (const double weight : {1.0, 1e8, 1e15}) {
    const Summary at = certified(weight, 1.25, false);
    CAPTURE(weight);
    CAPTURE(at.message);
    CHECK(at.verdict == Verdict::rank_deficient);
    CHECK(at.certificate.rank == 1);
  }
}

namespace {

struct Decay {
  double t, y;
  template <class T>
  T operator()(const T* p, const T* level) const {
    using std::exp;
    return p[0] * exp(-p[1] * t) + level[0] - y;
  }
};

struct Same {
  double weight;
  template <class T>
  T operator()(const T* a, const T* b) const {
    return weight * (a[0] - b[0]);
  }
};

struct Decays {
  Summary summary;
  std::vector<std::array<double, 2>> p;
  std::vector<std::array<double, 1>> level;
};

// Returns decays with a common level. It is one parameter, or, if there is a weight, one for each decay, and
// rows of this weight tie them together.
Decays decays(std::size_t count, double weight, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, 0.01);
  Decays out{{}, std::vector(count, std::array{2.0, 0.8}), std::vector(count, std::array{1.0})};
  Problem problem;
  for (std::size_t i = 0; i < count; ++i) {
    const double rate = 0.6 + 0.01 * static_cast<double>(i);
    for (int k = 0; k < 15; ++k) {
      const double t = 0.3 * k, y = 2.2 * std::exp(-rate * t) + 0.9 + noise(random);
      problem.add_residual_block(Decay{t, y}, nullptr, {out.p[i], out.level[weight > 0 ? i : 0]});
    }
    if (weight > 0 && i > 0)
      problem.add_residual_block(Same{weight}, nullptr, {out.level[i - 1], out.level[i]});
  }
  out.summary = solve(problem);
  return out;
}

}  // namespace

TEST_CASE("Parameters that heavy rows hold together are fitted like one parameter, or not certified") {
  for (const std::size_t count : {std::size_t{3}, std::size_t{26}}) {
    for (unsigned seed = 0; seed < 3; ++seed) {
      const Decays one = decays(count, 0, seed);
      CHECK(is_success(one.summary.verdict));
      for (const double weight : {1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e12, 1e14}) {
        const Decays held = decays(count, weight, seed);
        CAPTURE(count);
        CAPTURE(seed);
        CAPTURE(weight);
        CAPTURE(held.summary.message);
        const bool success = is_success(held.summary.verdict);
        if (weight <= 1e9) CHECK(success);
        CHECK_FALSE((success && held.summary.verdict == Verdict::rank_deficient));
        for (std::size_t i = 0; success && i < count; ++i) {
          // A thousandth is at most a tenth of a standard error.
          for (int k = 0; k < 2; ++k) CHECK(std::fabs(held.p[i][k] - one.p[i][k]) <= 1e-3);
          CHECK(std::fabs(held.level[i][0] - one.level[0][0]) <= 1e-3);
        }
      }
    }
  }
}

namespace {

struct Datum {
  double y;
  template <class T>
  T operator()(const T* level) const {
    return level[0] - y;
  }
};

}  // namespace

TEST_CASE("Where most rows are heavy, the few light ones still count for the rank") {
  for (const std::size_t count : {std::size_t{4}, std::size_t{20}, std::size_t{450}}) {
    for (const double weight : {1e4, 1e10, 1e14, 1e16}) {
      CAPTURE(count);
      CAPTURE(weight);
      std::mt19937 random(1);
      std::normal_distribution<double> noise(0, 0.1);
      std::vector<std::array<double, 1>> levels(count, {1.0});
      Problem problem;
      double mean = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const double y = 5 + noise(random);
        mean += y / static_cast<double>(count);
        problem.add_residual_block(Datum{y}, nullptr, {levels[i]});
        const std::size_t last = count > 20 ? std::min(count, i + 3) : count;
        for (std::size_t j = i + 1; j < last; ++j)
          problem.add_residual_block(Same{weight}, nullptr, {levels[i], levels[j]});
      }
      const Summary summary = solve(problem);
      CAPTURE(summary.message);
      double off = 0;
      for (const auto& level : levels) off = std::max(off, std::fabs(level[0] - mean));
      CHECK_FALSE((is_success(summary.verdict) && off > 0.01 / std::sqrt(static_cast<double>(count))));
    }
  }
}

// The rank at other points was bounded by null directions that the light row does not see beside the heavy
// one.
TEST_CASE("Parameters that light rows determine elsewhere are not lost beside a row of weight 1e15") {
  for (const double weight : {1.0, 1e6, 1e12, 1e14, 1e15, 1e16, 1e18}) {
    double p[3] = {1.5, 1.5, 1.2};  // the heavy row is satisfied, and p0 = p1
    Problem problem;
    problem.add_residual_block(HeavySum{weight}, nullptr, {p});
    problem.add_residual_block(FlatDifference{}, nullptr, {p});
    for (int i = 0; i < 4; ++i) problem.add_residual_block(Third{1 + 0.1 * i}, nullptr, {p});
    const Summary summary = solve(problem);
    CAPTURE(weight);
    CAPTURE(summary.certificate.rank);
    if (is_success(summary.verdict)) CHECK(std::fabs(FlatDifference()(p)) < 1e-3);
  }
}
