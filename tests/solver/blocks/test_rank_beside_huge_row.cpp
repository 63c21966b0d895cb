// A row of weight 1e15 makes J look rank-deficient in float64, although other rows determine what it does
// not. The distance along the directions that J does not show is unknown, so nothing is certified.
#include <nlsq/certify.hpp>
#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

#include <random>

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

TEST_CASE("What only light rows determine beside a row of weight 1e15 is not certified as undetermined") {
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
