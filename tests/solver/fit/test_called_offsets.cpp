// Tests functions that are called only in double, with a parameter that is an offset: a date of 2.45 million
// days, a clock of 1.7e9 s. A step relative to such a number crosses whole peaks of the data.
#include <nlsq/covariance.hpp>
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

// Holds a peak of width 0.4 near an offset, with noise. Its true place is `place`.
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
  const auto ratio = [](double h, auto f) {
    StepCheck check;
    for (const double x : {0.1, 0.4, 0.9}) check.add(f(x + h), f(x), f(x - h));
    return check.ratio();
  };
  const auto wave = [](double x) { return std::sin(2 * x); };
  CHECK(ratio(1e-3, wave) < kCurved);
  CHECK(ratio(0.2, wave) > kCurved);
  CHECK(ratio(15, [](double x) { return 3 * x + 1; }) == 0);                     // this is a straight line
  CHECK(ratio(1e-5, [](double x) { return (x - 0.4) * (x - 0.4); }) < kCurved);  // flat, but hardly moved
  CHECK(std::isnan(ratio(1e-9, [](double x) { return std::floor(7.3 * x); })));
  CHECK(std::isinf(ratio(0.2, [](double x) { return std::log(x); })));
  const double share = straight_share(ShareSearch(), [&](double s) { return ratio(15 * s, wave); });
  CHECK(15 * share < 0.05);
  CHECK(15 * share > 1e-4);
  // Shorter steps make noise worse, so the step stays.
  const auto noisy = [](double x) { return x + 1e-6 * std::sin(1e12 * x); };
  CHECK(straight_share(ShareSearch(), [&](double s) { return ratio(1e-5 * s, noisy); }) == 1);
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

// Far outside the peak all differences are 0. They agreed, and so looked like a derivative of 0.
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

// The rounding errors of y, divided by the width of a difference, are errors of J. At an offset of 10¹⁰ they
// were a tenth of J, and 35 of 255 successes of such fits were wrong by up to 0.7 standard errors.
TEST_CASE("a large offset of y moves neither the minimum of a called function nor its standard errors") {
  struct Decay {
    std::vector<double> t, y;
  };
  const auto value = [](double t, const double* p) { return p[0] * std::exp(-p[1] * t) + p[2]; };
  int successes = 0;
  for (const double offset : {1e8, 1e9, 1e10}) {
    for (unsigned seed = 1; seed <= 30; ++seed) {
      CAPTURE(offset);
      CAPTURE(seed);
      std::mt19937 random(seed);
      const auto draw = [&] { return static_cast<double>(random()) / 0x1p32; };
      const double truth[] = {1 + draw(), 0.2 + draw(), offset};
      Decay data;
      for (int i = 0; i < 60; ++i) {
        data.t.push_back(10 * draw());
        data.y.push_back(value(data.t.back(), truth) + 0.02 * (draw() + draw() + draw() - 1.5));
      }
      const std::vector<double> start = {1.2 * truth[0], 0.8 * truth[1], offset + 0.3};
      const FitResult called =
          curve_fit([&](double t, const double* p) { return value(t, p); }, data.t, data.y, start);
      // Derivatives of the recorded function have no such error.
      const FitResult recorded =
          curve_fit("a*exp(-b*x)+c", data.t, data.y, {{"a", start[0]}, {"b", start[1]}, {"c", start[2]}});
      const LeastSquaresResult residuals = least_squares(
          [&](std::span<const double> p) {
            std::vector<double> r;
            for (std::size_t i = 0; i < data.t.size(); ++i)
              r.push_back(value(data.t[i], p.data()) - data.y[i]);
            return r;
          },
          start);
      FitOptions with_loss;
      with_loss.loss = Loss::huber(0.1);
      const FitResult robust =
          curve_fit([&](double t, const double* p) { return value(t, p); }, data.t, data.y, start, with_loss);
      Problem problem;
      std::vector<double> in_blocks = start;
      for (std::size_t i = 0; i < data.t.size(); ++i) {
        problem.add_residual_block(
            [t = data.t[i], y = data.y[i], value](const double* p) { return value(t, p) - y; }, nullptr,
            {in_blocks});
      }
      const bool solved = is_success(solve(problem).verdict);
      if (!recorded.success()) continue;
      const auto same = [&](const std::vector<double>& p, const std::vector<double>& errors) {
        ++successes;
        for (std::size_t j = 0; j < 3; ++j) {
          CAPTURE(j);
          CHECK(errors[j] == doctest::Approx(recorded.standard_errors[j]).epsilon(0.01));
          CHECK(std::fabs(p[j] - recorded.parameters[j]) < 0.1 * recorded.standard_errors[j]);
        }
      };
      if (called.success()) same(called.parameters, called.standard_errors);
      if (residuals.success()) same(residuals.x, residuals.standard_errors);
      if (solved) {
        const BlockCovariance c = covariance(problem, {in_blocks.data()});
        std::vector<double> errors;
        for (std::size_t j = 0; j < 3; ++j)
          errors.push_back(std::sqrt(c.joint()(j, j) * c.residual_variance));
        same(in_blocks, errors);
      }
      if (robust.success()) same(robust.parameters, robust.standard_errors);
    }
  }
  CHECK(successes > 300);
}

// A parameter ends beside a bound, or on it. Once, the difference to one side had a step that was too short.
TEST_CASE("beside an offset of y, a bound that is near or active makes no standard error wrong") {
  const auto value = [](double t, const double* p) {
    return p[0] * std::exp(-p[1] * t) + p[2] * std::exp(-p[3] * t) + p[4];
  };
  int successes = 0, unknown = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto draw = [&] { return static_cast<double>(random()) / 0x1p32; };
    const double offset = std::pow(10, 8 + 2.5 * draw());
    const double truth[] = {1 + 4 * draw(), 0.3 + 0.3 * draw(), 1 + 4 * draw(), 1 + draw(), offset};
    std::vector<double> t, y;
    for (int i = 0; i < 20; ++i) {
      t.push_back(0.5 * i);
      y.push_back(value(t.back(), truth) + 0.02 * (draw() + draw() + draw() - 1.5));
    }
    const std::vector<double> start = {truth[0] * 1.03, truth[1] * 1.03, truth[2], truth[3], offset};
    const NamedValues named = {
        {"a", start[0]}, {"b", start[1]}, {"c", start[2]}, {"d", start[3]}, {"e", offset}};
    const FitResult free = curve_fit("a*exp(-b*x)+c*exp(-d*x)+e", t, y, named);
    if (!free.success()) continue;
    FitOptions options;
    options.bounds = Bounds(std::vector<double>(5, -kNoBound), std::vector<double>(5, kNoBound));
    // The bounds lie just beyond the minimum, or just before it.
    options.bounds.upper[0] = free.parameters[0] + free.standard_errors[0] * (seed % 2 == 0 ? 1e-4 : -0.5);
    options.bounds.lower[3] = free.parameters[3] - free.standard_errors[3] * 1e-4;
    std::vector<double> inside = start;
    inside[0] = options.bounds.upper[0] - 0.01;
    inside[3] = options.bounds.lower[3] + 0.01;
    const FitResult called =
        curve_fit([&](double x, const double* p) { return value(x, p); }, t, y, inside, options);
    const FitResult recorded = curve_fit(
        "a*exp(-b*x)+c*exp(-d*x)+e", t, y,
        {{"a", inside[0]}, {"b", inside[1]}, {"c", inside[2]}, {"d", inside[3]}, {"e", offset}}, options);
    if (!called.success() || !recorded.success() || called.at_bound != recorded.at_bound) continue;
    ++successes;
    for (std::size_t j = 0; j < 5; ++j) {
      CAPTURE(j);
      if (called.at_bound[j]) continue;
      if (std::isnan(called.standard_errors[j])) {
        ++unknown;
        CHECK_FALSE(called.warnings.empty());
      } else {
        CHECK(called.standard_errors[j] == doctest::Approx(recorded.standard_errors[j]).epsilon(0.02));
      }
    }
  }
  CHECK(successes > 20);
  CHECK(unknown < successes);
}

// At a bound, all points of a difference lie on one side, and once the length of the step was not examined.
// Beside a date of 2.45 million days it crossed the peak, and a parameter stayed on a bound that it should
// have left.
TEST_CASE("an offset leaves a bound that it starts on") {
  for (const double offset : kOffsets) {
    for (const bool upper : {false, true}) {
      CAPTURE(offset);
      CAPTURE(upper);
      const Peak data(offset);
      const double edge = data.place + (upper ? 0.4 : -0.4);
      std::vector<double> start = data.start;
      start[0] = edge;
      Bounds bounds({-kNoBound, -kNoBound, -kNoBound}, {kNoBound, kNoBound, kNoBound});
      (upper ? bounds.upper : bounds.lower)[0] = edge;
      FitOptions options;
      options.bounds = bounds;
      const FitResult fit =
          curve_fit([](double t, const double* p) { return peak(t, p); }, data.t, data.y, start, options);
      CHECK(fit.success());
      CHECK(std::fabs(fit.parameters[0] - data.place) < 0.02);
      for (const Differences by : {Differences::central, Differences::ridders}) {
        LeastSquaresOptions of_residuals;
        of_residuals.bounds = bounds;
        of_residuals.differences = by;
        int calls = 0;
        const LeastSquaresResult residuals = least_squares(data.residuals(&calls), start, of_residuals);
        CHECK(residuals.success());
        CHECK(std::fabs(residuals.x[0] - data.place) < 0.02);
      }
    }
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

TEST_CASE("a column of zeros is noticed at any offset") {
  for (const double offset : kOffsets) {
    for (std::size_t zero = 0; zero < 3; ++zero) {
      CAPTURE(offset);
      CAPTURE(zero);
      const Peak data(offset);
      int calls = 0;
      LeastSquaresOptions options;
      options.jacobian = [&](std::span<const double> p, std::span<double> J) {
        for (std::size_t i = 0; i < data.t.size(); ++i) {
          const double u = (data.t[i] - p[0]) / p[2], f = std::exp(-0.5 * u * u);
          J[3 * i] = p[1] * f * u / p[2];
          J[3 * i + 1] = f;
          J[3 * i + 2] = p[1] * f * u * u / p[2];
          J[3 * i + zero] = 0;
        }
      };
      CHECK_FALSE(least_squares(data.residuals(&calls), data.start, options).success());
    }
  }
}

TEST_CASE("values that are rounded to six digits are fitted as well as before") {
  std::vector<double> t, y;
  for (int i = 0; i < 50; ++i) {
    t.push_back(0.1 * i);
    y.push_back(2 * std::exp(-0.7 * t.back()) + 0.5 + 1e-5 * std::sin(40.0 * i));
  }
  const auto rounded = [&](std::span<const double> p) {
    std::vector<double> r;
    for (std::size_t i = 0; i < t.size(); ++i)
      r.push_back(std::round(1e6 * (p[0] * std::exp(-p[1] * t[i]) + p[2])) * 1e-6 - y[i]);
    return r;
  };
  const LeastSquaresResult fit = least_squares(rounded, {1.6, 1.0, 0.7});
  CHECK(fit.x[0] == doctest::Approx(2).epsilon(1e-5));
  CHECK(fit.x[1] == doctest::Approx(0.7).epsilon(1e-5));
}

TEST_CASE("a peak in the middle of many blocks is seen") {
  const double offset = 2.45e6;
  std::vector<double> p = {offset + 0.05, 1, 0.2};
  Problem problem;
  for (int i = 0; i < 2000; ++i) {
    const double truth[] = {offset, 1.5, 0.2}, at = offset + 0.02 * i - 20;
    problem.add_residual_block(
        [at, y = peak(at, truth) + 0.01 * std::sin(37.0 * i)](const double* q) { return peak(at, q) - y; },
        nullptr, {p});
  }
  CHECK(solve(problem).certificate.passed);
  CHECK(p[1] == doctest::Approx(1.5).epsilon(0.01));
}

TEST_CASE("a bound within the step, and a function that ends beside the start") {
  const double offset = 2.45e6;
  const Peak data(offset);
  int calls = 0;
  LeastSquaresOptions options;
  options.bounds.lower = {offset - 5, -10, 0.01};
  options.bounds.upper = {offset + 5, 10, 10};
  const LeastSquaresResult fit = least_squares(data.residuals(&calls), data.start, options);
  CHECK(fit.success());
  CHECK(std::fabs(fit.x[0] - data.place) < 0.02);
  const auto ends = [&](std::span<const double> p) {
    std::vector<double> r = data.residuals(&calls).value(p);
    if (p[0] < offset - 3) r[7] = std::log(-1.0);
    return r;
  };
  const LeastSquaresResult beside = least_squares(ends, data.start);
  CHECK(beside.success());
  CHECK(std::fabs(beside.x[0] - data.place) < 0.02);
}
