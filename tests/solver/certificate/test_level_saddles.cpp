// Tests fits that start where the gradient is 0, the cost falls to both sides of one parameter, and it is
// level along another one, as where a rotation should turn by 180 degrees. The second derivative of the level
// one is rounding error alone, although its column of J is not 0, and must not hide the negative one.
#include <nlsq/certify.hpp>
#include <nlsq/nlsq.hpp>
#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

using namespace nlsq;

namespace {

enum class Kind : std::uint8_t { level, straight, turned };

// Residuals by three parameters, each at `place` in units of 1 / `rate`.
struct Residuals {
  Kind kind[3] = {};
  double place[3] = {}, rate[3] = {};
  static constexpr int residuals = 6;

  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::cos, std::sin;
    for (std::size_t i = 0; i < 3; ++i) {
      const T t = T(rate[i]) * (p[i] - T(place[i]));
      r[2 * i] = kind[i] == Kind::turned ? cos(t) + T(1) : kind[i] == Kind::level ? cos(t + T(0.37)) : t;
      r[2 * i + 1] = kind[i] == Kind::straight ? T(0.5) * t : sin(kind[i] == Kind::level ? t + T(0.37) : t);
    }
    return true;
  }
  // The least cost, if one parameter is turned. It is higher by 2 at the start.
  double least() const {
    double sum = 0;
    for (const Kind k : kind) sum += k == Kind::level ? 0.5 : 0;
    return sum;
  }
};

Residuals drawn(unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  Residuals out;
  for (std::size_t i = 0; i < 3; ++i) {
    out.kind[i] = i == seed % 3 ? Kind::turned : unit(random) < 0.7 ? Kind::level : Kind::straight;
    out.place[i] = 4 * unit(random) - 2;
    out.rate[i] = std::pow(10, 2 * unit(random) - 1);
  }
  return out;
}

constexpr unsigned kDraws = 40;

}  // namespace

TEST_CASE("residual blocks leave a saddle with a level direction, and it is not certified") {
  for (unsigned seed = 0; seed < kDraws; ++seed) {
    CAPTURE(seed);
    const Residuals f = drawn(seed);
    double x[3] = {f.place[0], f.place[1], f.place[2]};
    Problem problem;
    problem.add_parameter_block(x, 3);
    problem.add_residual_block<6>(f, nullptr, {x});
    CHECK_FALSE(certify(problem).certificate.passed);
    const Summary s = solve(problem);
    INFO(s.message);
    CHECK(s.final_cost < f.least() + 0.01);
  }
}

TEST_CASE("residual functions leave a saddle with a level direction") {
  for (unsigned seed = 0; seed < kDraws; ++seed) {
    CAPTURE(seed);
    const Residuals f = drawn(seed);
    const auto residuals = [f](const auto& p) {
      std::vector<std::decay_t<decltype(p[0] * 1.0)>> r(6);
      f(&p[0], &r[0]);
      return r;
    };
    const LeastSquaresResult found = least_squares(residuals, std::vector<double>(f.place, f.place + 3), {});
    INFO(found.summary.message);
    CHECK(found.summary.final_cost < f.least() + 0.01);
  }
}
