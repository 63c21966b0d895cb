// Tests residual functions that are only called, where a parameter comes close to 0 beside an offset that is
// far larger. Steps of differences that are proportional to the parameter moved no residual there.
#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

using namespace nlsq;

namespace {

struct Step {  // a logistic step at p[2], on an offset
  static constexpr int residuals = 1;
  double t, y, offset;
  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::exp;
    r[0] = (p[0] / (1.0 + exp(-p[1] * (t - p[2]))) + offset) - y;
    return true;
  }
};

struct CalledStep {  // the same, but it accepts double alone
  static constexpr int residuals = 1;
  Step step;
  bool operator()(const double* p, double* r) const { return step(p, r); }
};

}  // namespace

// Of 500 such problems 18 of 22 successes were wrong, by up to 170 standard errors.
TEST_CASE("a parameter that comes close to 0 beside an offset is seen by differences") {
  int successes = 0, wrong = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    const double offset = std::pow(10, 4 + 5 * uniform(random)),
                 noise = std::pow(10, -8 + 7 * uniform(random));
    const int rows = 5 + static_cast<int>(random() % 30);
    double p[3] = {2 + 0.2 * normal(random), 1 + 0.1 * normal(random), 0.3 * normal(random)}, q[3];
    Problem called, recorded;
    for (int i = 0; i < rows; ++i) {
      const double t = -4 + 8.0 * i / rows;
      const Step step{t, 2 / (1 + std::exp(-t)) + offset + noise * normal(random), offset};
      called.add_residual_block(CalledStep{step}, nullptr, {p});
      recorded.add_residual_block(step, nullptr, {q});
    }
    const Summary found = solve(called);
    if (!is_success(found.verdict)) continue;
    ++successes;
    std::copy_n(p, 3, q);
    const double least = solve(recorded).final_cost, sigma = std::sqrt(2 * least / (rows - 3));
    const double distance = std::sqrt(std::max(0.0, 2 * (found.final_cost - least))) / sigma;
    wrong += distance > 0.15 ? 1 : 0;
  }
  CHECK(wrong == 0);
  CHECK(successes > 25);
}
