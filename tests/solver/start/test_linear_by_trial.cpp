// Tests models that are called only in double. Moving their parameters shows which of them are linear.
#include <nlsq/curve_fit.hpp>

#include <doctest/doctest.h>
#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

using namespace nlsq;

namespace {

// y = scale (2.1 exp(-0.9 x) + 0.4) with one percent of noise.
struct Decay {
  std::vector<double> x, y;

  explicit Decay(double scale) {
    std::mt19937 random(11);
    for (int i = 0; i < 80; ++i) {
      const double noise = (static_cast<double>(random()) / 0x1p32 - 0.5) * 0.02;
      x.push_back(0.06 * i);
      y.push_back(scale * (2.1 * std::exp(-0.9 * x.back()) + 0.4 + noise));
    }
  }
};

// Functions of const double* are called, never recorded.
double decay(double x, const double* p) {
  const double a = p[0], b = p[1], c = p[2];
  return a * std::exp(-b * x) + c;
}
// a and b are linear each by itself, but not together. c is nonlinear.
double product(double x, const double* p) {
  const double a = p[0], b = p[1], c = p[2];
  return a * (std::exp(-c * x) + b);
}
double with_sizes(double x, const double* p) {
  const double a = p[0], b = p[1], c = p[2];
  return std::fabs(a) * std::exp(-b * x) + std::fabs(c);
}

}  // namespace

TEST_CASE("a called model finds its way from ones, at any scale of y") {
  for (const double scale : {1e-15, 1e-6, 1.0, 1e3, 1e6, 1e12}) {
    for (const auto model : {decay, product, with_sizes}) {
      // Across the kink of |a|, differences fail if their step, which is relative to the start, is far longer
      // than a.
      if (model == with_sizes && scale < 1e-6) continue;
      CAPTURE(scale);
      const Decay data(scale);
      const FitResult fit = curve_fit(model, data.x, data.y, {1, 1, 1});
      CAPTURE(fit.summary.message);
      CHECK(fit.success());
      CHECK(fit.r_squared > 0.998);
    }
  }
}

TEST_CASE(
    "linear parameters are eliminated from a called model as from a recorded one, far from a good start") {
  const Decay data(1e6);
  FitOptions options;
  options.variable_projection = VariableProjection::on;
  const FitResult fit = curve_fit(decay, data.x, data.y, {1, 1, 1}, options);
  REQUIRE(fit.success());
  CHECK(fit.eliminated == std::vector<bool>{true, false, true});
  // a and b are not linear together, so only the first one is taken as linear.
  const FitResult of_product = curve_fit(product, data.x, data.y, {1, 1, 1}, options);
  REQUIRE(of_product.success());
  CHECK(of_product.eliminated == std::vector<bool>{true, false, false});
}

TEST_CASE("points that show whether a parameter is linear lie within its bounds") {
  const Decay data(1e6);
  const std::vector<double> lower{0, 0.1, -1e7}, upper{3e6, 3, 5e5};
  const auto strict = [&](double x, const double* p) {
    for (std::size_t j = 0; j < 3; ++j) {
      if (p[j] < lower[j] || p[j] > upper[j]) throw std::runtime_error("called outside of the bounds");
    }
    return decay(x, p);
  };
  FitOptions options;
  options.bounds = {lower, upper};
  const FitResult fit = curve_fit(strict, data.x, data.y, {1, 1, 1}, options);
  CAPTURE(fit.summary.message);
  CHECK(fit.success());
}

TEST_CASE("a model that throws where parameters are moved is fitted as it was without moving them") {
  const Decay data(0.2);
  int thrown = 0;
  const auto limited = [&](double x, const double* p) {
    if (p[0] > 1.5) {
      ++thrown;
      throw std::domain_error("a share above 1.5");
    }
    return decay(x, p);
  };
  const FitResult fit = curve_fit(limited, data.x, data.y, {1, 0.1, 0});
  CAPTURE(fit.summary.message);
  CHECK(thrown > 0);
  CHECK(fit.success());
  CHECK(fit.r_squared > 0.998);
  // If the fit itself comes to an exception, that is rethrown to the user, as before.
  const auto never = [](double, const double*) -> double { throw std::domain_error("never defined"); };
  CHECK_THROWS_AS(curve_fit(never, data.x, data.y, {1, 0.1, 0}), std::domain_error);
}

TEST_CASE("a parameter that only seems to be linear does not count as linear when the end is judged") {
  // If b is moved to 1.5 b and 2 b, the rounded numbers may lie on a line, such as 1, 2, 3.
  const auto rounded = [](double x, const double* p) { return p[0] * x + std::round(p[1]); };
  std::vector<double> x, y;
  for (int i = 0; i < 70; ++i) {
    x.push_back(0.1 + 0.08 * i);
    y.push_back(2 * x.back() + 3 + 0.02 * std::sin(40.0 * i));
  }
  for (const double b : {1.0, 1.49231277, 1.98962606, 4.51057418, 6.09072123, -4.00204441, 22.01234268}) {
    for (const double a : {-1.8, 1.0, 2.8, 16.0}) {
      CAPTURE(a);
      CAPTURE(b);
      const FitResult fit = curve_fit(rounded, x, y, {a, b});
      CAPTURE(fit.summary.message);
      CHECK_FALSE(fit.success());  // no derivative shows the effect of b
    }
  }
}

TEST_CASE("a parameter that is linear as far as it is moved, but not as far as its best value, is left out") {
  const auto one_sided = [](double x, const double* p) {
    const double a = p[0], b = p[1], c = p[2];
    return (a > 0 ? a : a * a * a) * std::exp(-b * x) + c;
  };
  std::vector<double> x, y;
  for (int i = 0; i < 80; ++i) {
    x.push_back(0.06 * i);
    y.push_back(3 - 3.4 * std::exp(-x.back()) + 0.02 * std::sin(40.0 * i));
  }
  FitOptions options;
  options.variable_projection = VariableProjection::on;
  for (const double a : {1.0, 5.0}) {
    CAPTURE(a);
    const FitResult fit = curve_fit(one_sided, x, y, {a, 1, 1}, options);
    CAPTURE(fit.summary.message);
    CHECK(fit.eliminated == std::vector<bool>{false, false, true});
    CHECK(fit.success());
    CHECK(fit.r_squared > 0.998);
  }
}
