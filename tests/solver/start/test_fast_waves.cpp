// Tests waves typed without starting values. From a frequency of 1 a fit of hourly values by seconds may end
// at a wave far faster than the rows: it passes through the same points as the wave of a day.
#include <nlsq/curve_fit.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

// Holds 72 hourly values by seconds, with a wave of a day.
struct Hourly {
  std::vector<double> t, y;
  explicit Hourly(unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    for (int i = 0; i < 72; ++i) {
      t.push_back(3600.0 * i);
      y.push_back(15 + 4 * std::sin(2 * std::numbers::pi * t.back() / 86400 + 1) + 0.06 * normal(random));
    }
  }
};

bool warns_of_speed(const FitResult& fit) {
  for (const std::string& warning : fit.warnings)
    if (warning.find("more than half of its period") != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("Waves typed without starting values are as slow as the rows allow") {
  const double day = 2 * std::numbers::pi / 86400;
  for (unsigned seed = 1; seed <= 10; ++seed) {
    const Hourly data(seed);
    for (const char* formula : {"A*sin(w*x+ph)+c", "A*cos(w*x)+B*sin(w*x)+c"}) {
      CAPTURE(seed);
      CAPTURE(formula);
      const FitResult fit = curve_fit(formula, data.t, data.y);
      CHECK(is_success(fit.summary.verdict));
      const auto w = std::ranges::find(fit.parameter_names, "w") - fit.parameter_names.begin();
      CHECK(std::fabs(fit.parameters[static_cast<std::size_t>(w)]) == doctest::Approx(day).epsilon(0.01));
      CHECK_FALSE(warns_of_speed(fit));
    }
  }
}

TEST_CASE("A fast wave that remains has a warning, and one that the user starts has none") {
  const Hourly data(1);
  FitOptions within;
  within.bounds.lower = {-INFINITY, 0.9, -INFINITY, -INFINITY};
  within.bounds.upper = {INFINITY, 1.1, INFINITY, INFINITY};
  CHECK(warns_of_speed(curve_fit("A*sin(w*x+ph)+c", data.t, data.y, {}, within)));
  CHECK_FALSE(warns_of_speed(curve_fit("A*sin(w*x+ph)+c", data.t, data.y, {{"w", 1}})));
}

TEST_CASE("A true fast wave at uneven places is not replaced by a slower peak of the noise") {
  for (unsigned seed = 0; seed < 4; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::vector<double> x, y;
    for (int i = 0; i < 3000; ++i) x.push_back(12000 * (static_cast<double>(random()) / 0x1p32));
    std::ranges::sort(x);
    for (const double at : x) y.push_back(0.2 * std::sin(at + 1) + normal(random) + 5);
    const FitResult fit = curve_fit("a*sin(w*x+p)+c", x, y);
    const auto w = std::ranges::find(fit.parameter_names, "w") - fit.parameter_names.begin();
    CAPTURE(seed);
    CHECK(fit.parameters[static_cast<std::size_t>(w)] == doctest::Approx(1).epsilon(1e-3));
  }
}

TEST_CASE("Bursts of rows show waves that are fast beside the gaps between them") {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  std::vector<double> x, y;
  for (int i = 0; i < 320; ++i) {
    x.push_back(1000 * (i / 40) + 0.5 * (i % 40));
    y.push_back(2 * std::sin(x.back() + 1) + 0.05 * normal(random));
  }
  CHECK_FALSE(warns_of_speed(curve_fit("a*sin(w*x+p)", x, y)));
}
