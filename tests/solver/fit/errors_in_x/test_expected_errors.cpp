// Tests the warning of errors in x within which the curve bends, against fits of simulated data.
#include <nlsq/nlsq.hpp>

#include "messages.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>

using namespace nlsq;

namespace {

struct Simulated {
  std::string formula;
  NamedValues truth;
  std::function<double(double)> f;  // at the truth
  double first, last, sigma, sigma_x;
  std::size_t rows;
};

const Simulated kWave = {"a*sin(b*x+c)",
                         {{"a", 2}, {"b", 1.3}, {"c", 0.4}},
                         [](double x) { return 2 * std::sin(1.3 * x + 0.4); },
                         0,
                         10,
                         0.03,
                         0.1,
                         400};
const Simulated kDecay = {"a*exp(-b*x)+c",
                          {{"a", 3}, {"b", 0.8}, {"c", 0.5}},
                          [](double x) { return 3 * std::exp(-0.8 * x) + 0.5; },
                          0,
                          4,
                          0.02,
                          0.3,
                          400};

struct Errors {
  FitResult last;
  std::vector<double> shift, scatter;  // mean, and standard deviation over the mean standard error
  std::size_t warned = 0;
};

Errors errors_of_fits(const Simulated& s, std::size_t fits, bool absolute) {
  Errors out;
  const std::size_t n = s.truth.size();
  const std::vector<double> sigma(s.rows, s.sigma), sigma_x(s.rows, s.sigma_x);
  std::vector<double> sums(n), squares(n), standard_errors(n), x(s.rows), y(s.rows);
  std::mt19937_64 random(17);
  std::normal_distribution<double> normal;
  for (std::size_t k = 0; k < fits; ++k) {
    for (std::size_t i = 0; i < s.rows; ++i) {
      const double at =
          s.first + (s.last - s.first) * static_cast<double>(i) / static_cast<double>(s.rows - 1);
      y[i] = s.f(at) + s.sigma * normal(random);
      x[i] = at + s.sigma_x * normal(random);
    }
    FitOptions o;
    o.sigma = sigma;
    o.sigma_x = {sigma_x};
    o.absolute_sigma = absolute;
    out.last = curve_fit(s.formula, x, y, s.truth, o);
    REQUIRE(out.last.success());
    for (std::size_t j = 0; j < n; ++j) {
      const double error = out.last.parameters[j] - s.truth[j].second;
      sums[j] += error, squares[j] += error * error, standard_errors[j] += out.last.standard_errors[j];
    }
    for (const std::string& warning : out.last.warnings) out.warned += contains(warning, "the curve bends");
  }
  const auto count = static_cast<double>(fits);
  for (std::size_t j = 0; j < n; ++j) {
    out.shift.push_back(sums[j] / count);
    out.scatter.push_back(std::sqrt(squares[j] / count - out.shift[j] * out.shift[j]) /
                          (standard_errors[j] / count));
  }
  return out;
}

// Returns the number that follows `before` in the text, or NaN.
double number_after(const std::string& text, const std::string& before) {
  const std::size_t at = text.find(before);
  return at == std::string::npos ? std::nan("") : std::stod(text.substr(at + before.size()));
}

}  // namespace

TEST_CASE("Values are shifted and scatter as the warning says") {
  for (const bool absolute : {true, false}) {
    CAPTURE(absolute);
    const Errors wave = errors_of_fits(kWave, 200, absolute);
    CHECK(wave.warned == 200);
    const std::string& of_wave = wave.last.warnings.back();
    INFO(of_wave);
    CHECK(number_after(of_wave, "a is off by about ") == doctest::Approx(wave.shift[0]).epsilon(0.3));
    CHECK_FALSE(contains(of_wave, "b is off"));
    if (absolute) {
      CHECK(number_after(of_wave, "b scatters by ") == doctest::Approx(wave.scatter[1]).epsilon(0.15));
      CHECK(number_after(of_wave, "c scatters by ") == doctest::Approx(wave.scatter[2]).epsilon(0.15));
    }
    const Errors decay = errors_of_fits(kDecay, 200, absolute);
    CHECK(decay.warned == 200);
    CHECK(number_after(decay.last.warnings.back(), "a is off by about ") ==
          doctest::Approx(decay.shift[0]).epsilon(0.3));
  }
}

TEST_CASE("Errors in x within which the curve is straight have no warning") {
  Simulated small = kWave;
  small.sigma_x = 0.01, small.rows = 60;
  CHECK(errors_of_fits(small, 50, true).warned == 0);
  Simulated line = kDecay;
  line.formula = "a+b*x";
  line.truth = {{"a", 1}, {"b", 2}};
  line.f = [](double x) { return 1 + 2 * x; };
  for (const bool absolute : {true, false}) CHECK(errors_of_fits(line, 50, absolute).warned == 0);
}

// Of two predictors the exact one does not move; a held parameter and one on a bound have no errors of their
// own.
TEST_CASE("Several predictors, fixed parameters and bounds") {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  std::vector<double> x, z, y;
  for (int i = 0; i < 400; ++i) {
    const double at = 10.0 * i / 399;
    z.push_back(std::cos(7.0 * i));
    y.push_back(2 * std::sin(1.3 * at + 0.4) + 0.7 * z.back() + 0.03 * normal(random));
    x.push_back(at + 0.1 * normal(random));
  }
  const std::vector<double> sigma(400, 0.03), sigma_x(400, 0.1);
  FitOptions o;
  o.sigma = sigma;
  o.absolute_sigma = true;
  o.sigma_x = {sigma_x, Column()};
  o.fixed = {"c"};
  const NamedValues p0 = {{"a", 2}, {"b", 1.3}, {"c", 0.4}, {"d", 0.7}};
  const FitResult fixed = curve_fit("a*sin(b*x1+c)+d*x2", {x, z}, y, p0, o);
  REQUIRE(fixed.success());
  REQUIRE(fixed.warnings.size() == 1);
  CHECK(contains(fixed.warnings[0], "a is off by about -0.01"));
  CHECK_FALSE(contains(fixed.warnings[0], "c "));
  o.bounds = Bounds({2.1, 0, 0, 0}, {5, 9, 9, 9});
  const FitResult bounded =
      curve_fit("a*sin(b*x1+c)+d*x2", {x, z}, y, {{"a", 3}, {"b", 1.3}, {"c", 0.4}, {"d", 0.7}}, o);
  REQUIRE(bounded.success());
  for (const std::string& warning : bounded.warnings) CHECK_FALSE(contains(warning, "a is off"));
}
