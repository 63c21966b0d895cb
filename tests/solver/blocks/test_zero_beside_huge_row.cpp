// A row with huge terms has huge rounding errors. The others' residuals are not zero beside it.
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

// A level that is known to almost all digits.
struct KnownLevel {
  double weight;
  template <class T>
  T operator()(const T* level) const {
    return weight * (level[0] - 1.1);
  }
};

}  // namespace

TEST_CASE(
    "Noise beside a row of weight 1e16 is no rounding error: its minimum is certified, not a place beside") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(0, 0.05);
    double p[2] = {3, 0.7}, level[1] = {1.1};
    Problem problem;
    for (int i = 0; i < 30; ++i) {
      const double y = 3 * std::exp(-0.14 * i) + 1.1 + noise(random);
      problem.add_residual_block(Fading{0.2 * i, y}, nullptr, {p, level});
    }
    problem.add_residual_block(KnownLevel{1e16}, nullptr, {level});
    CAPTURE(seed);
    CHECK(is_success(solve(problem).verdict));
    CHECK(is_success(certify(problem).verdict));
    p[0] += 0.05;  // one or two standard errors
    const Summary beside = certify(problem);
    CAPTURE(beside.certificate.governed_by);
    CAPTURE(beside.certificate.decrement_sigma);
    CHECK_FALSE(is_success(beside.verdict));
  }
}
