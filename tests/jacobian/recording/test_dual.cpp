#include <nlsq/eigen_scalars.hpp>
#include <nlsq/where.hpp>

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <complex>
#include <functional>
#include <string>
#include <vector>

#include "functors.hpp"

using namespace nlsq;
using D2 = Dual<double, 2>;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

D2 first(double x) { return D2(x, 0); }
D2 second(double x) { return D2(x, 1); }

// This is Ridders' method: Richardson extrapolation of central differences, to a few 1e-11 of the derivative.
double slope(const std::function<double(double)>& f, double x) {
  constexpr int kRounds = 8;
  double table[kRounds][kRounds], h = 0.05 * std::max(std::fabs(x), 0.1), best = kNaN, error = kInf;
  for (int i = 0; i < kRounds; ++i, h /= 2) {
    table[i][0] = (f(x + h) - f(x - h)) / (2 * h);
    double power = 4;
    for (int k = 1; k <= i; ++k, power *= 4) {
      table[i][k] = (table[i][k - 1] * power - table[i - 1][k - 1]) / (power - 1);
      const double change =
          std::max(std::fabs(table[i][k] - table[i][k - 1]), std::fabs(table[i][k] - table[i - 1][k - 1]));
      if (change <= error) error = change, best = table[i][k];
    }
  }
  return best;
}

}  // namespace

TEST_CASE("Every functor on dual numbers has the value it has in double and the slopes of differences") {
  functors::for_each([](const auto& functor) {
    const std::string label = functor.name();
    CAPTURE(label);
    for (const auto& [x, p] : functor.points()) {
      using D4 = Dual<double, 4>;
      std::vector<D4> seeded;
      for (std::size_t j = 0; j < p.size(); ++j) seeded.emplace_back(p[j], static_cast<int>(j));
      const double plain = functor(x, std::span<const double>(p));
      const D4 dual = functor(D4(x), std::span<const D4>(seeded));
      CHECK(dual.value() == doctest::Approx(plain).epsilon(1e-14));
      for (std::size_t j = 0; j < p.size(); ++j) {
        const double expected = slope(
            [&](double t) {
              std::vector<double> q = p;
              q[j] = t;
              return functor(x, std::span<const double>(q));
            },
            p[j]);
        CAPTURE(j);
        CHECK(dual.derivative(static_cast<int>(j)) ==
              doctest::Approx(expected).epsilon(2e-8).scale(1e-2 + std::fabs(plain)));
      }
    }
  });
}

TEST_CASE("Plain numbers of every arithmetic type mix with dual numbers on either side") {
  const auto mixes = [](auto s) {
    const D2 x = first(3);
    CHECK((x + s).value() == 5);
    CHECK((s + x).value() == 5);
    CHECK((x - s).value() == 1);
    CHECK((s - x).value() == -1);
    CHECK((s - x).derivative(0) == -1);
    CHECK((x * s).derivative(0) == 2);
    CHECK((s * x).derivative(0) == 2);
    CHECK((x / s).derivative(0) == 0.5);
    CHECK((s / x).derivative(0) == doctest::Approx(-2.0 / 9).epsilon(1e-15));
    CHECK(x > s);
    CHECK(s < x);
    CHECK(x != s);
    CHECK(s != x);
    CHECK(x >= s);
    CHECK(s <= x);
    CHECK_FALSE(x == s);
    CHECK(pow(x, s).derivative(0) == 6);
    CHECK(pow(s, x).value() == 8);
    CHECK(fmax(x, s).derivative(0) == 1);
    CHECK(hypot(x, s).value() == doctest::Approx(std::sqrt(13.0)));
    CHECK(atan2(s, x).value() == doctest::Approx(std::atan2(2.0, 3.0)));
    D2 y = x;
    y += s, y -= s, y *= s, y /= s;
    CHECK(y.value() == 3);
    CHECK(y.derivative(0) == 1);
    CHECK(where(less(x, s), x, s).value() == 2);
  };
  mixes(2), mixes(2u), mixes(2L), mixes(2ULL), mixes(2.0), mixes(2.0f), mixes(2.0L);
  mixes(static_cast<short>(2)), mixes(static_cast<unsigned char>(2));
}

TEST_CASE("At its special points pow has Ceres's slopes") {
  CHECK(pow(first(0), 2).derivative(0) == 0);
  CHECK(pow(first(0), 1).derivative(0) == 1);
  CHECK(pow(first(0), 0).derivative(0) == 0);
  CHECK(pow(first(0), 0.5).derivative(0) == kInf);
  CHECK(pow(first(0), second(2)).derivative(0) == 0);
  CHECK(pow(first(0), second(2)).derivative(1) == 0);
  CHECK(pow(first(0), second(1)).derivative(0) == 1);
  CHECK(pow(0.0, second(2)).derivative(1) == 0);
  CHECK(pow(first(-2), 3).derivative(0) == 12);
  CHECK(pow(first(-2), second(3)).derivative(0) == 12);
  CHECK(std::isnan(pow(first(-2), second(3)).derivative(1)));
  CHECK(std::isnan(pow(first(-2), 0.5).value()));
  CHECK(pow(-2.0, D2(3)).derivative(0) == 0);
}

TEST_CASE("abs follows the sign bit, hypot has no slope at the origin, ties of min and max have one side's") {
  CHECK(abs(first(0)).derivative(0) == 1);
  CHECK(abs(first(-0.0)).derivative(0) == -1);
  CHECK(std::isnan(hypot(first(0), second(0)).derivative(0)));
  CHECK(hypot(first(3), second(4)).derivative(1) == 0.8);
  CHECK(hypot(first(3), second(4), 12).derivative(0) == doctest::Approx(3.0 / 13).epsilon(1e-15));
  CHECK(max(first(1), second(1)).derivative(0) == 1);
  CHECK(fmax(first(kNaN), second(1)).value() == 1);
  CHECK(fmax(first(1), second(kNaN)).value() == 1);
  CHECK(fmin(1, second(kNaN)).value() == 1);
}

TEST_CASE("An infinite slope does not touch a derivative that is zero") {
  const D2 y = sqrt(first(0)) + 3 * second(2);
  CHECK(y.derivative(0) == kInf);
  CHECK(y.derivative(1) == 3);
}

TEST_CASE("Dual numbers nest: second derivatives") {
  using Inner = Dual<double, 1>;
  using Outer = Dual<Inner, 1>;
  const Outer x(Inner(0.7, 0), 0);
  const Outer y = sin(x) * exp(x) + pow(x, 3) / (1 + x * x) + erf(x) + lgamma(x + 1);
  const auto f = [](double t) {
    return std::sin(t) * std::exp(t) + t * t * t / (1 + t * t) + std::erf(t) + std::lgamma(t + 1);
  };
  const double h = 1e-4, expected = (f(0.7 + h) - 2 * f(0.7) + f(0.7 - h)) / (h * h);
  CHECK(y.derivative(0).derivative(0) == doctest::Approx(expected).epsilon(1e-6));
}

TEST_CASE("Eigen, std::complex and the standard algorithms work on dual numbers") {
  Eigen::Matrix<D2, 2, 2> A;
  A << first(2), 1, 0.5, second(3);
  const Eigen::Vector2d b(1, 2);
  const Eigen::Matrix<D2, 2, 1> v = A.inverse() * b;  // det = 2*3 - 0.5
  CHECK(v[0].value() == doctest::Approx((3 * 1 - 1 * 2) / 5.5));
  CHECK(v[1].derivative(0) == doctest::Approx((2 * 5.5 - (2 * 2 - 0.5) * 3) / (5.5 * 5.5)));
  CHECK(A.norm().value() == doctest::Approx(std::sqrt(4 + 1 + 0.25 + 9)));

  std::vector<D2> values{second(3), first(1), D2(2)};
  std::sort(values.begin(), values.end());
  CHECK(values[0].derivative(0) == 1);
  CHECK(std::clamp(values[2], D2(0), D2(2)).value() == 2);

  const std::complex<D2> z(first(1), second(2));
  CHECK((z * z).real().derivative(1) == -4);
  CHECK((z / std::complex<D2>(D2(0), D2(1))).imag().derivative(0) == -1);
}
