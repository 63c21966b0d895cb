// Compares extrapolated differences with derivatives known in closed form.
#include "rows/calls/difference_step.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace nlsq;

namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

struct Smooth {
  const char* name;
  double (*f)(double);
  double (*slope)(double);
  double at;
};

const Smooth kSmooth[] = {
    {"exp", [](double p) { return std::exp(p); }, [](double p) { return std::exp(p); }, 1.3},
    {"decay far out", [](double p) { return std::exp(-p * 7.0); },
     [](double p) { return -7 * std::exp(-p * 7.0); }, 2.1},
    {"sine", [](double p) { return std::sin(3 * p); }, [](double p) { return 3 * std::cos(3 * p); }, 40.0},
    {"power", [](double p) { return std::pow(p, 2.5); }, [](double p) { return 2.5 * std::pow(p, 1.5); },
     1e-3},
    {"quotient", [](double p) { return 1 / (1 + p * p); },
     [](double p) { return -2 * p / std::pow(1 + p * p, 2); }, -0.7},
    {"logarithm", [](double p) { return std::log(p); }, [](double p) { return 1 / p; }, 1e6},
    {"at zero", [](double p) { return std::expm1(2 * p); }, [](double p) { return 2 * std::exp(2 * p); },
     0.0},
};

ExtrapolatedSlopes slopes_of(double (*f)(double), double p, double lower = -kNone, double upper = kNone) {
  const double here[] = {f(p)};
  return extrapolated_slopes([&](double q) { return std::vector{f(q)}; }, here, p, p == 0 ? 1 : std::fabs(p),
                             lower, upper);
}

}  // namespace

TEST_CASE("derivatives of smooth functions are right to ten digits, and the error is no less than it says") {
  for (const Smooth& s : kSmooth) {
    CAPTURE(s.name);
    const ExtrapolatedSlopes got = slopes_of(s.f, s.at);
    const double exact = s.slope(s.at), scale = std::fabs(exact);
    CHECK(std::fabs(got.slope[0] - exact) <= 1e-10 * scale);
    CHECK(std::fabs(got.slope[0] - exact) <= 4 * got.error[0]);
    CHECK(got.error[0] <= 1e-9 * scale);
  }
}

TEST_CASE("they are better than central differences with the best step by a factor of twenty") {
  double worst = 0;
  for (const Smooth& s : kSmooth) {
    const double h = std::cbrt(std::numeric_limits<double>::epsilon()) * (s.at == 0 ? 1 : std::fabs(s.at));
    const double central = (s.f(s.at + h) - s.f(s.at - h)) / ((s.at + h) - (s.at - h)), exact = s.slope(s.at);
    worst = std::max(worst, std::fabs(slopes_of(s.f, s.at).slope[0] - exact) / std::fabs(central - exact));
  }
  CHECK(worst < 0.05);
}

TEST_CASE("no point beyond a bound is evaluated, on either side, and beside one the slope holds") {
  for (const double room : {1.0, 1e-3, 1e-8, 0.0}) {
    for (const bool above : {true, false}) {
      CAPTURE(room);
      CAPTURE(above);
      const double p = 2, lower = above ? 0 : p - room, upper = above ? p + room : 9;
      const double here[] = {std::exp(p)};
      const auto f = [&](double q) {
        CHECK(q >= lower);
        CHECK(q <= upper);
        return std::vector{std::exp(q)};
      };
      const ExtrapolatedSlopes got = extrapolated_slopes(f, here, p, p, lower, upper);
      CHECK(got.slope[0] == doctest::Approx(std::exp(p)).epsilon(1e-8));
    }
  }
  CHECK(slopes_of([](double p) { return std::exp(p); }, 2, 2, 2).slope[0] == 0);  // held on both sides
}

// Beside a bound, the difference was once taken over a short step to one side. Over such a step, rounding
// errors of the large constant are a tenth of the slope, and the stated error left them out.
TEST_CASE("beside a bound, rounding errors of a large constant are divided by a long step") {
  for (const double constant : {0.0, 1e8, 1e11}) {
    for (const double room : {0.0, 1e-9, 1e-6, 1e-4}) {
      for (const bool above : {true, false}) {
        CAPTURE(constant);
        CAPTURE(room);
        CAPTURE(above);
        const double p = 2, lower = above ? -kNone : p - room, upper = above ? p + room : kNone;
        const auto value = [constant](double q) { return (std::exp(-q) + constant) - constant; };
        const double here[] = {value(p)}, constants[] = {constant};
        const auto f = [&](double q) { return std::vector{value(q)}; };
        const ExtrapolatedSlopes got = extrapolated_slopes(f, here, p, p, lower, upper, constants);
        const double wrong = std::fabs(got.slope[0] + std::exp(-p));
        CHECK(got.extrapolated);
        CHECK(wrong <= 1e-9 + 1e4 * 0x1p-53 * constant);
        CHECK(wrong <= 10 * got.error[0]);
      }
    }
  }
}

TEST_CASE("steps that leave the domain do not count; a pole has no slope") {
  const ExtrapolatedSlopes got = slopes_of([](double p) { return std::sqrt(p - 0.999); }, 1.0);
  CHECK(got.slope[0] == doctest::Approx(0.5 / std::sqrt(0.001)).epsilon(1e-7));
  CHECK(std::isnan(slopes_of([](double) { return std::nan(""); }, 1.0).slope[0]));
}

TEST_CASE("noise in the function shows in the error") {
  const auto noisy = [](double p) { return std::exp(p) + 1e-7 * std::sin(1e9 * p); };
  const ExtrapolatedSlopes got = slopes_of(noisy, 1.0);
  CHECK(std::fabs(got.slope[0] - std::exp(1.0)) < 1e-3);
  CHECK(std::fabs(got.slope[0] - std::exp(1.0)) < 10 * got.error[0]);
}

TEST_CASE("components are extrapolated each for itself") {
  const double here[] = {std::exp(1.0), 7.0, std::sin(50.0)};
  const auto f = [](double q) { return std::vector{std::exp(q), 7.0, std::sin(50 * q)}; };
  const ExtrapolatedSlopes got = extrapolated_slopes(f, here, 1, 1, -kNone, kNone);
  CHECK(std::fabs(got.slope[0] - std::exp(1.0)) < 1e-11);
  CHECK(got.slope[1] == 0);
  CHECK(std::fabs(got.slope[2] - 50 * std::cos(50.0)) < 1e-8);
}
