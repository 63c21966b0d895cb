// Functions that are called in double alone, with a parameter that is an offset: a date of 2.45 million days,
// a clock of 1.7e9 s. A step relative to such a number crosses whole peaks of the data.
#include <nlsq/curve_fit.hpp>
#include <nlsq/least_squares.hpp>
#include <nlsq/problem.hpp>
#include "rows/calls/difference_step.hpp"

#include <doctest/doctest.h>
#include <cmath>
#include <random>
#include <span>
#include <vector>

using namespace nlsq;

namespace {

constexpr double kOffsets[] = {0, 1e3, 1e5, 2.45e6, 1.7e9};

double peak(double t, const double* p) {
  const double u = (t - p[0]) / p[2];
  return p[1] * std::exp(-0.5 * u * u);
}

// A peak of width 0.4 near an offset, with noise. Its true place is `place`.
struct Peak {
  double place;
  std::vector<double> t, y, start;

  explicit Peak(double offset) : place(offset + 0.3) {
    std::mt19937 random(7);
    for (int i = 0; i < 100; ++i) {
      const double noise = (static_cast<double>(random()) / 0x1p32 - 0.5) * 0.07;
      const double truth[] = {place, 1.5, 0.4};
      t.push_back(offset + 0.04 * i - 2);
      y.push_back(peak(t.back(), truth) + noise);
    }
    start = {offset + 0.5, 1, 0.5};
  }
  VectorFunction residuals(int* calls) const {
    return {[this, calls](std::span<const double> p) {
      ++*calls;
      std::vector<double> r;
      for (std::size_t i = 0; i < t.size(); ++i) r.push_back(peak(t[i], p.data()) - y[i]);
      return r;
    }};
  }
};

}  // namespace

TEST_CASE("a step is too long where the second difference is as large as the first") {
  const auto factor = [](double h, auto f) {
    StepCheck check;
    for (const double x : {0.1, 0.4, 0.9}) check.add(f(x + h), f(x), f(x - h));
    return check.factor(1);
  };
  const auto wave = [](double x) { return std::sin(2 * x); };
  CHECK(factor(1e-3, wave) == 1);
  CHECK(factor(0.2, wave) < 1);
  CHECK(factor(15, wave) == doctest::Approx(1.0 / 16));
  CHECK(factor(15, [](double x) { return 3 * x + 1; }) == 1);                // a straight line
  CHECK(factor(1e-5, [](double x) { return (x - 0.4) * (x - 0.4); }) == 1);  // flat, but hardly moved
}

TEST_CASE("residuals of a function are fitted at any offset, with few calls") {
  for (const double offset : kOffsets) {
    CAPTURE(offset);
    const Peak data(offset);
    int calls = 0;
    const LeastSquaresResult fit = least_squares(data.residuals(&calls), data.start);
    CHECK(fit.success());
    CHECK(std::fabs(fit.x[0] - data.place) < 0.02);
    CHECK(calls < 120);
  }
}

// Far outside the peak all differences are 0. They agree, and so looked like a derivative of 0.
TEST_CASE("extrapolated differences are taken across no peak") {
  for (const double offset : kOffsets) {
    CAPTURE(offset);
    const Peak data(offset);
    int calls = 0;
    LeastSquaresOptions options;
    options.differences = Differences::ridders;
    const LeastSquaresResult fit = least_squares(data.residuals(&calls), data.start, options);
    CHECK(fit.success());
    CHECK(std::fabs(fit.x[0] - data.place) < 0.02);
  }
}

TEST_CASE("a curve that is called row by row is fitted at any offset") {
  for (const double offset : kOffsets) {
    CAPTURE(offset);
    const Peak data(offset);
    const FitResult fit =
        curve_fit([](double t, const double* p) { return peak(t, p); }, data.t, data.y, data.start);
    CHECK(fit.success());
    CHECK(std::fabs(fit.parameters[0] - data.place) < 0.02);
  }
}

TEST_CASE("residual blocks without derivatives are solved at any offset") {
  for (const double offset : kOffsets) {
    CAPTURE(offset);
    const Peak data(offset);
    std::vector<double> p = data.start;
    Problem problem;
    for (std::size_t i = 0; i < data.t.size(); ++i) {
      problem.add_residual_block([t = data.t[i], y = data.y[i]](const double* q) { return peak(t, q) - y; },
                                 nullptr, {p});
    }
    CHECK(solve(problem).certificate.passed);
    CHECK(std::fabs(p[0] - data.place) < 0.02);
  }
}

TEST_CASE("right derivatives are believed at any offset, wrong ones are not") {
  for (const double offset : kOffsets) {
    for (const bool right : {true, false}) {
      CAPTURE(offset);
      CAPTURE(right);
      const Peak data(offset);
      int calls = 0;
      LeastSquaresOptions options;
      options.jacobian = [&](std::span<const double> p, std::span<double> J) {
        for (std::size_t i = 0; i < data.t.size(); ++i) {
          const double u = (data.t[i] - p[0]) / p[2], f = std::exp(-0.5 * u * u);
          J[3 * i] = p[1] * f * u / p[2] * (right ? 1 : 1.3);
          J[3 * i + 1] = f;
          J[3 * i + 2] = p[1] * f * u * u / p[2];
        }
      };
      CHECK(least_squares(data.residuals(&calls), data.start, options).success() == right);
    }
  }
}
