// Tests certify() for every kind of curve fit. It must make no step and give the right verdict.
#include <nlsq/certify.hpp>
#include "decay_data.hpp"

#include <doctest/doctest.h>

using namespace decays;

namespace {

const char* const kFormula = "a*exp(-b*x)+c";

std::vector<double> some_x() {
  std::vector<double> x;
  for (int i = 0; i < 60; ++i) x.push_back(0.1 * i);
  return x;
}

std::vector<double> some_y() {
  std::vector<double> y;
  int i = 0;
  for (const double x : some_x())
    y.push_back(2 * std::exp(-0.7 * x) + 1 + 0.02 * ((++i * 7919) % 23 / 11.0 - 1));
  return y;
}

NamedValues named(const FitResult& fit) {
  NamedValues p;
  for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
    if (fit.ties[j].empty()) p.emplace_back(fit.parameter_names[j], fit.parameters[j]);
  }
  return p;
}

// Checks that the end of a fit passes with the same numbers, and a point half a standard error away does not.
void check(const FitOptions& options, std::size_t moved) {
  const std::vector<double> x = some_x(), y = some_y();
  const FitResult fit = curve_fit(kFormula, {x}, y, {{"a", 1}, {"b", 1}, {"c", 0.5}}, options);
  REQUIRE(fit.success());
  const FitResult same = certify(kFormula, {x}, y, named(fit), options);
  CAPTURE(same.summary.message);
  CHECK(same.success());
  CHECK(same.parameters == fit.parameters);
  CHECK(same.summary.final_cost == doctest::Approx(fit.summary.final_cost).epsilon(1e-12));
  for (std::size_t j = 0; j < 3; ++j) {
    if (!std::isnan(fit.standard_errors[j]))
      CHECK(same.standard_errors[j] == doctest::Approx(fit.standard_errors[j]).epsilon(1e-5));
  }
  NamedValues off = named(fit);
  off[moved].second += 0.5 * fit.standard_errors[moved];
  const FitResult judged = certify(kFormula, {x}, y, off, options);
  CHECK_FALSE(judged.success());
  CHECK(judged.parameters[moved] == off[moved].second);
  CHECK(judged.summary.certificate.decrement_sigma > 0.3);
}

}  // namespace

TEST_CASE("the end of a fit passes and half a standard error beside it does not, under every option") {
  FitOptions options;
  check(options, 1);
  const std::vector<double> sigma(60, 0.02), sigma_x(60, 0.01);
  options.sigma = sigma;
  check(options, 0);
  options.absolute_sigma = true;
  check(options, 2);
  options.sigma_x = {sigma_x};
  check(options, 1);
  options = {};
  options.loss = Loss::huber(0.01);
  check(options, 1);
  options = {};
  options.fixed = {"c"};
  check(options, 1);
  options = {};
  options.bounds = {{-10, -10, 0.5}, {10, 10, 0.9}};  // c ends on its upper bound
  check(options, 1);
}

TEST_CASE("the distance decides: answers with few digits pass if they are near, and fail if not") {
  const std::vector<double> x = some_x(), y = some_y();
  const FitResult fit = curve_fit(kFormula, {x}, y, {{"b", 1.0}});
  for (const double errors : {1e-6, 1e-4, 1e-2, 0.1, 3.0}) {
    NamedValues p = named(fit);
    p[1].second += errors * fit.standard_errors[1];
    const FitResult judged = certify(kFormula, {x}, y, p);
    CAPTURE(errors);
    const double distance = judged.summary.certificate.decrement_sigma;
    CHECK(judged.success() == (distance <= 1e-3));
    CHECK(judged.success() == (errors < 1e-3));
    CHECK(judged.summary.message.find("standard errors away") != std::string::npos);
  }
}

TEST_CASE("a fit that was stopped early fails") {
  const std::vector<double> x = some_x(), y = some_y();
  FitOptions two_steps;
  two_steps.max_iterations = 2;
  two_steps.solve_linear_start = false;
  two_steps.variable_projection = VariableProjection::off;
  const FitResult stopped = curve_fit(kFormula, {x}, y, {{"a", 0.1}, {"b", 3}, {"c", 0}}, two_steps);
  REQUIRE_FALSE(stopped.success());
  CHECK_FALSE(certify(kFormula, {x}, y, named(stopped)).success());
}

TEST_CASE("models, callables and ties") {
  const std::vector<double> x = some_x(), y = some_y();
  const FitResult fit = curve_fit(model("exp"), {x}, y);
  CHECK(certify(model("exp"), {x}, y, named(fit)).success());
  CHECK(certify(decay, x, y, fit.parameters).success());
  CHECK_FALSE(certify(decay, x, y, {2, 0.5, 1}).success());
  FitOptions tied;
  tied.ties = {"c = a/2"};
  const FitResult with_tie = curve_fit(kFormula, {x}, y, {{"b", 1.0}}, tied);
  CHECK(certify(kFormula, {x}, y, named(with_tie), tied).success());
}

TEST_CASE("a rank-deficient end is judged in what the data determine") {
  const std::vector<double> x = some_x(), y = some_y();
  const FitResult fit = curve_fit("(a+d)*exp(-b*x)+c", {x}, y, {{"a", 1}, {"b", 0.5}, {"c", 1}, {"d", 1}});
  REQUIRE(fit.summary.verdict == Verdict::rank_deficient);
  const FitResult judged = certify("(a+d)*exp(-b*x)+c", {x}, y, named(fit));
  CHECK(judged.summary.verdict == Verdict::rank_deficient);
  NamedValues off = named(fit);
  for (auto& [name, value] : off) {
    if (name == "b") value *= 1.1;
  }
  CHECK_FALSE(certify("(a+d)*exp(-b*x)+c", {x}, y, off).success());
}

TEST_CASE("every parameter needs a value, and those without are named") {
  const std::vector<double> x = some_x(), y = some_y();
  try {
    certify(kFormula, {x}, y, {{"b", 1.0}});
    FAIL("accepted");
  } catch (const ValidationError& e) {
    CHECK(std::string(e.what()).find("no value for a, c") != std::string::npos);
  }
}

TEST_CASE("values at which the model is not finite are not certified, and have no statistics") {
  const std::vector<double> x = some_x(), y = some_y();
  const FitResult judged = certify("a*log(x-b)", {x}, y, {{"a", 1}, {"b", 100}});
  CHECK_FALSE(judged.success());
  CHECK(judged.summary.message.find("not finite") != std::string::npos);
  // Once these were 0 and 1, as if the fit were perfect.
  CHECK(std::isnan(judged.rss));
  CHECK(std::isnan(judged.r_squared));
  CHECK(std::isnan(judged.summary.certificate.decrement_sigma));
  CHECK(std::isnan(judged.summary.certificate.condition));
}

TEST_CASE("a model without predictors is certified at the mean of y, and not beside it") {
  const std::vector<double> y = {1, 2, 4, 5};
  for (const char* formula : {"a", "a*1"}) {
    CAPTURE(formula);
    const FitResult mean = certify(formula, {}, y, {{"a", 3}});
    CAPTURE(mean.summary.message);
    CHECK(mean.success());
    CHECK(mean.rows == 4);
    CHECK(mean.rss == doctest::Approx(10).epsilon(1e-14));
    CHECK_FALSE(certify(formula, {}, y, {{"a", 3.5}}).success());
  }
}

TEST_CASE("a saddle or a maximum of the likelihood is no minimum, and is reported where it is") {
  std::vector<double> x = some_x(), y;
  for (const double at : x) y.push_back(2 * at * at + 1 + 0.01 * std::sin(99 * at));
  double mean = 0;
  for (const double value : y) mean += value / static_cast<double>(y.size());
  const FitResult at = certify("a^2*x^2+b", {x}, y, {{"a", 0}, {"b", mean}});
  CAPTURE(at.summary.message);
  CHECK(!at.success());
  CHECK(at.parameters == std::vector<double>{0, mean});
  CHECK(at.summary.message.find("saddle") != std::string::npos);
  double squares = 0;
  for (const double value : y) squares += (value - mean) * (value - mean);
  CHECK(at.summary.final_cost == doctest::Approx(squares / 2));
}
