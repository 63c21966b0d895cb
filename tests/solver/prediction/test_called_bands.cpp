// Tests the bands of models that are only called, whose derivatives are differences of values. The bands of
// the same models as templates, which are recorded and have exact derivatives, are the reference.
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

using namespace nlsq;

namespace {

struct Bands {
  Prediction called, recorded;
  // Returns the largest relative difference of the standard errors.
  double difference() const {
    double largest = 0;
    for (std::size_t i = 0; i < called.standard_error.size(); ++i) {
      const double change = called.standard_error[i] / recorded.standard_error[i] - 1;
      largest = std::isfinite(change) ? std::max(largest, std::fabs(change)) : HUGE_VAL;
    }
    return largest;
  }
};

template <class F>
Bands bands_of(F f, const std::vector<double>& truth, double low, double high, double noise,
               const FitOptions& options = {}) {
  std::mt19937 random(11);
  std::vector<double> x, y, at;
  for (int i = 0; i < 60; ++i) {
    double sum = -6;
    for (int k = 0; k < 12; ++k) sum += static_cast<double>(random()) / 0x1p32;
    x.push_back(low + (high - low) * i / 59);
    y.push_back(f(x.back(), truth) + noise * sum);
  }
  for (int i = 0; i <= 10; ++i) at.push_back(low + 0.1 * (high - low) * i);
  const auto called = [f](double point, const std::vector<double>& p) -> double { return f(point, p); };
  const FitResult fit = curve_fit(f, x, y, truth, options);
  CAPTURE(fit.summary.message);
  CHECK(fit.success());
  return {predict(called, at, fit, options), predict(f, at, fit, options)};
}

}  // namespace

TEST_CASE("bands beside a large constant do not show the rounding errors of the values") {
  for (const double constant : {0.0, 1e5, 1e7, 1e9}) {
    CAPTURE(constant);
    const auto check = [&](auto f, const std::vector<double>& truth, double low, double high) {
      const Bands bands = bands_of(f, truth, low, high, 0.05);
      CHECK(bands.difference() < 0.03);
      CHECK(bands.called.warnings == bands.recorded.warnings);
    };
    check([=](auto x, const auto& p) { return p[0] + p[1] * x + constant; }, {1e-9, 2}, 0, 10);
    check([=](auto x, const auto& p) { return p[0] * exp(-p[1] * x) + p[2] + constant; }, {3, 0.7, 0}, 0, 8);
    check([=](auto x, const auto& p) { return p[0] * sin(p[1] * x + p[2]) + constant; }, {2, 400, 1e-3}, 0,
          10);
    check([=](auto x, const auto& p) { return p[0] * exp(-(x - p[1]) * (x - p[1])) + constant; }, {2, 1e-3},
          -1.5, 1.5);
  }
}

TEST_CASE("a warning says so where rounding errors hide the derivatives") {
  const auto far_origin = [](auto x, const auto& p) {
    return p[0] + p[1] * (x + 1000.) + p[2] * x * x + 1e9;
  };
  const Bands bands = bands_of(far_origin, {0, 1e-3, 1e-4}, 0, 10, 0.1);
  REQUIRE(bands.called.warnings.size() == 1);
  CHECK(bands.called.warnings[0].find("rounding errors or jumps hide its derivatives") != std::string::npos);
  CHECK(bands.recorded.warnings.empty());
}

TEST_CASE("differences stay within the bounds of the fit, and where the function is defined") {
  FitOptions options;
  options.bounds.lower = {-1e300, 0};
  options.bounds.upper = {1e300, 1e300};
  const auto root = [](auto x, const auto& p) {
    if (p[1] < 0) throw std::domain_error("p[1] < 0");
    return p[0] * sqrt(p[1] + x);
  };
  CHECK(bands_of(root, {2, 0.01}, 0, 5, 0.02, options).difference() < 0.01);
  CHECK(bands_of(root, {2, 0.01}, 0, 5, 0.02).difference() < 0.01);
}
