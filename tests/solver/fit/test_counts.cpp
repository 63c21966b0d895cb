// Tests counts. The deviance replaces squares, and the Fisher information replaces JᵀJ.
#include <nlsq/groups.hpp>
#include <nlsq/nlsq.hpp>
#include <nlsq/profile_intervals.hpp>

#include "messages.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

using namespace nlsq;

namespace {

const auto decay = [](const auto& x, const auto& p) {
  using std::exp;
  return p[0] * exp(-p[1] * x) + p[2];
};

struct Counts {
  std::vector<double> x, y;
};
// Counts fall from some sixty to a background of half a count, so there are many zeros.
Counts decaying(std::size_t rows, std::uint64_t seed, double size = 60, double background = 0.5) {
  Counts d;
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < rows; ++i) {
    d.x.push_back(8 * (static_cast<double>(i) + 0.5) / static_cast<double>(rows));
    std::poisson_distribution<int> draw(size * std::exp(-0.9 * d.x.back()) + background);
    d.y.push_back(draw(random));
  }
  return d;
}

FitOptions poisson() {
  FitOptions o;
  o.loss = Loss::poisson();
  return o;
}

double deviance(const Counts& d, const std::vector<double>& p) {
  double sum = 0;
  for (std::size_t i = 0; i < d.x.size(); ++i) {
    const double f = decay(d.x[i], p);
    sum += 2 * (f - d.y[i] + (d.y[i] > 0 ? d.y[i] * std::log(d.y[i] / f) : 0));
  }
  return sum;
}

}  // namespace

TEST_CASE("A constant fitted to counts is their mean, to the error √(mean/rows)") {
  const std::vector<double> x = {1, 2, 3, 4, 5, 6}, y = {0, 3, 1, 0, 2, 7};
  const FitResult fit = curve_fit("c+0*x", x, y, {{"c", 1}}, poisson());
  CHECK(fit.success());
  CHECK(fit.parameters[0] == doctest::Approx(13.0 / 6).epsilon(1e-12));
  CHECK(fit.standard_errors[0] == doctest::Approx(std::sqrt(13.0 / 36)).epsilon(1e-10));
  double expected = 0;
  for (const double v : y) expected += v > 0 ? 2 * v * std::log(v * 6 / 13) : 0;
  CHECK(fit.rss == doctest::Approx(expected).epsilon(1e-12));
  CHECK(fit.aic == doctest::Approx(expected + 2).epsilon(1e-12));
  CHECK(fit.r_squared == doctest::Approx(0).scale(1));
}

TEST_CASE("A log-linear model of counts ends where reweighted least squares does") {
  Counts d;
  std::mt19937_64 random(4);
  for (int i = 0; i < 40; ++i) {
    d.x.push_back(-1 + 0.05 * i);
    std::poisson_distribution<int> draw(std::exp(0.4 + 1.3 * d.x.back()));
    d.y.push_back(draw(random));
  }
  double a = 0, b = 0, H[3] = {};
  for (int k = 0; k < 60;
       ++k) {  // Fisher scoring (P. McCullagh, J. A. Nelder, Generalized Linear Models, 1989, section 2.5)
    double g[2] = {};
    H[0] = H[1] = H[2] = 0;
    for (std::size_t i = 0; i < d.x.size(); ++i) {
      const double mu = std::exp(a + b * d.x[i]);
      g[0] += d.y[i] - mu, g[1] += (d.y[i] - mu) * d.x[i];
      H[0] += mu, H[1] += mu * d.x[i], H[2] += mu * d.x[i] * d.x[i];
    }
    const double det = H[0] * H[2] - H[1] * H[1];
    a += (H[2] * g[0] - H[1] * g[1]) / det;
    b += (H[0] * g[1] - H[1] * g[0]) / det;
  }
  const FitResult fit = curve_fit("exp(a+b*x)", d.x, d.y, {{"a", 0}, {"b", 0}}, poisson());
  CHECK(fit.success());
  CHECK(fit.parameters[0] == doctest::Approx(a).epsilon(1e-9));
  CHECK(fit.parameters[1] == doctest::Approx(b).epsilon(1e-9));
  const double det = H[0] * H[2] - H[1] * H[1];
  CHECK(fit.standard_errors[0] == doctest::Approx(std::sqrt(H[2] / det)).epsilon(1e-8));
  CHECK(fit.standard_errors[1] == doctest::Approx(std::sqrt(H[0] / det)).epsilon(1e-8));
  CHECK(fit.covariance(0, 1) == doctest::Approx(-H[1] / det).epsilon(1e-8));
}

TEST_CASE("Counts are fitted alike however the model is given, and statistics follow their definitions") {
  const Counts d = decaying(120, 8);
  const std::vector<double> p0 = {40.0, 1.0, 1.0};
  const FitResult formula = curve_fit("a*exp(-b*x)+c", d.x, d.y, {{"a", 40}, {"b", 1}, {"c", 1}}, poisson());
  const FitResult callable = curve_fit(decay, d.x, d.y, p0, poisson());
  const FitResult dual = curve_fit(untraced(decay), d.x, d.y, p0, poisson());
  const FitResult differences =
      curve_fit([](double x, const std::vector<double>& p) { return decay(x, p); }, d.x, d.y, p0, poisson());
  const FitResult prepared = curve_fit(PreparedModel("a*exp(-b*x)+c"), d.x, d.y, p0, poisson());
  const FitResult model = curve_fit(nlsq::model("exp"), d.x, d.y, {}, poisson());
  CHECK(formula.parameters == callable.parameters);
  CHECK(dual.summary.evaluator == "dual");
  CHECK(differences.summary.evaluator == "finite differences");
  for (const FitResult* fit : {&formula, &callable, &dual, &differences, &prepared, &model}) {
    CAPTURE(fit->summary.message);
    CHECK(fit->success());
    for (std::size_t j = 0; j < 3; ++j) {
      CHECK(fit->parameters[j] == doctest::Approx(formula.parameters[j]).epsilon(1e-7));
      CHECK(fit->standard_errors[j] == doctest::Approx(formula.standard_errors[j]).epsilon(1e-6));
    }
    CHECK(fit->rss == doctest::Approx(deviance(d, fit->parameters)).epsilon(1e-10));
  }
  CHECK(formula.loss == Loss::poisson());
  CHECK(formula.bic == doctest::Approx(formula.rss + 3 * std::log(120.0)));
  CHECK(formula.r_squared > 0.9);
  // This is the Fisher information, computed by hand.
  double H[3][3] = {};
  for (std::size_t i = 0; i < d.x.size(); ++i) {
    const auto& p = formula.parameters;
    const double e = std::exp(-p[1] * d.x[i]), f = p[0] * e + p[2], J[3] = {e, -p[0] * d.x[i] * e, 1};
    for (int a = 0; a < 3; ++a) {
      for (int b = 0; b < 3; ++b) H[a][b] += J[a] * J[b] / f;
    }
  }
  for (std::size_t a = 0; a < 3; ++a) {  // solves H C = 1
    for (std::size_t b = 0; b < 3; ++b) {
      double sum = 0;
      for (std::size_t k = 0; k < 3; ++k) sum += H[a][k] * formula.covariance(k, b);
      CHECK(sum == doctest::Approx(a == b ? 1 : 0).epsilon(1e-8).scale(1));
    }
  }
}

TEST_CASE("Counts in many rows: every policy, any number of threads") {
  const Counts d = decaying(std::size_t{1} << 18, 15);
  FitOptions o = poisson();
  o.precision = PrecisionPolicy::all_f64();
  o.sampling = Sampling::never;
  const NamedValues p0 = {{"a", 30}, {"b", 1.2}, {"c", 2}};
  const FitResult f64 = curve_fit("a*exp(-b*x)+c", d.x, d.y, p0, o);
  CHECK(f64.success());
  CHECK(f64.parameters[1] == doctest::Approx(0.9).epsilon(0.01));
  o.sampling = Sampling::automatic;
  for (const char* policy : {"auto", "f32", "bf16"}) {
    CAPTURE(policy);
    o.precision = PrecisionPolicy::parse(policy);
    o.threads = 1;
    const FitResult one = curve_fit("a*exp(-b*x)+c", d.x, d.y, p0, o);
    o.threads = 2;
    const FitResult two = curve_fit("a*exp(-b*x)+c", d.x, d.y, p0, o);
    CAPTURE(one.summary.message);
    CHECK(one.success());
    CHECK(one.parameters == two.parameters);
    CHECK(one.standard_errors == two.standard_errors);
    for (std::size_t j = 0; j < 3; ++j) {
      CHECK(std::fabs(one.parameters[j] - f64.parameters[j]) < 1e-3 * f64.standard_errors[j]);
      CHECK(one.standard_errors[j] == doctest::Approx(f64.standard_errors[j]).epsilon(1e-5));
    }
  }
}

TEST_CASE("95 % intervals of counts cover the truth in 93 to 97 % of simulated fits") {
  const std::size_t rows = 80, fits = 2000;
  Matrix Y(fits, rows), P0(1, 3);
  std::vector<double> x;
  for (std::size_t f = 0; f < fits; ++f) {
    const Counts d = decaying(rows, 7000 + f, 60, 2);
    x = d.x;
    for (std::size_t i = 0; i < rows; ++i) Y(f, i) = d.y[i];
  }
  P0(0, 0) = 60, P0(0, 1) = 0.9, P0(0, 2) = 2;
  BatchOptions o;
  o.loss = Loss::poisson();
  const BatchResult many = curve_fit_batch("a*exp(-b*x)+c", x, Y, P0, o);
  CHECK(many.certified == fits);
  const double truth[3] = {60, 0.9, 2};
  for (std::size_t j = 0; j < 3; ++j) {
    std::size_t covered = 0;
    for (std::size_t f = 0; f < fits; ++f)
      covered += std::fabs(many.parameters(f, j) - truth[j]) <= 1.96 * many.standard_errors(f, j) ? 1 : 0;
    const double share = static_cast<double>(covered) / static_cast<double>(fits);
    MESSAGE("poisson, parameter " << j << ": " << 100 * share << " %");
    CHECK(share >= 0.93);
    CHECK(share <= 0.97);
  }
}

TEST_CASE("Data that cannot be counts are refused by name, and a model that is not positive says so") {
  Counts d = decaying(30, 2);
  FitOptions o = poisson();
  o.sigma = d.x;
  CHECK(contains(message_of<ValidationError>([&] {
                   curve_fit(decay, d.x, d.y, {40.0, 1.0, 1.0}, o);
                 }),
                 "leave sigma"));
  const char* left = "sqrt(y) = a*exp(-b*x)";
  CHECK(
      contains(message_of<ValidationError>([&] { curve_fit(left, d.x, d.y, {}, poisson()); }), "left side"));
  CHECK(contains(message_of<ValidationError>(
                     [&] { curve_fit(PreparedModel(left), d.x, d.y, NamedValues{}, poisson()); }),
                 "left side"));
  const FitResult below = curve_fit("a*exp(-b*x)+c", d.x, d.y, {{"a", -50}, {"b", 1}, {"c", -1}}, [] {
    FitOptions options = poisson();
    options.solve_linear_start = false;
    return options;
  }());
  CHECK_FALSE(below.success());
  CHECK(below.summary.termination == Termination::failure);
  CHECK(contains(below.summary.message, "positive"));
  CHECK(below.parameters == std::vector<double>{-50, 1, -1});
  d.y[7] = -1;
  try {
    curve_fit(decay, d.x, d.y, {40.0, 1.0, 1.0}, poisson());
    FAIL("a negative count was taken");
  } catch (const DataError& e) {
    CHECK(e.row() == 7);
    CHECK(contains(e.what(), "y has 1 value"));
    CHECK(contains(e.what(), "negative"));
  }
  d.y[7] = -0.0;  // this is zero
  CHECK(curve_fit(decay, d.x, d.y, {40.0, 1.0, 1.0}, poisson()).success());
}

TEST_CASE("Counts that are all zero are fitted, and one negative count among many rows is refused") {
  const std::vector<double> x = {1, 2, 3, 4, 5}, y(5, 0.0);
  const FitResult fit = curve_fit("exp(a)+0*x", x, y, {{"a", 0}}, poisson());  // the minimum is at a = -inf
  CHECK(std::isfinite(fit.parameters[0]));
  CHECK(fit.parameters[0] < -5);
  Counts d = decaying(200000, 3);
  d.y[150001] = -3;
  try {
    curve_fit(decay, d.x, d.y, {40.0, 1.0, 1.0}, poisson());
    FAIL("a negative count was taken");
  } catch (const DataError& e) {
    CHECK(e.row() == 150001);
  }
}

namespace {

// Returns small counts along a straight line, whose guess is below 0 at x = 0.
Counts rising() {
  Counts d;
  d.y = {0, 0, 0, 1, 0, 0, 1, 0, 3, 1, 3, 1, 2, 0, 5, 2, 2, 1, 3, 2, 8, 5, 3, 3, 1};
  for (std::size_t i = 0; i < d.y.size(); ++i) d.x.push_back(0.4 * static_cast<double>(i));
  return d;
}

}  // namespace

TEST_CASE("A guess of counts is raised until the curve is positive, in every way to a guess") {
  const Counts d = rising();
  const FitResult given = curve_fit("a*x+b", d.x, d.y, {{"a", 0.1}, {"b", 1}}, poisson());
  REQUIRE(given.success());
  std::vector<FitResult> fits = {
      curve_fit("a*x+b", d.x, d.y, {}, poisson()), curve_fit(nlsq::model("linear"), d.x, d.y, {}, poisson()),
      curve_fit(PreparedModel(nlsq::model("linear")), d.x, d.y, NamedValues{}, poisson())};
  for (const FitResult& fit : fits) {
    CHECK(fit.success());
    for (std::size_t j = 0; j < 2; ++j)
      CHECK(fit.parameters[j] == doctest::Approx(given.parameters[j]).epsilon(1e-6).scale(1));
  }
  std::vector<double> x = d.x, y = d.y, group(d.x.size(), 1.0);
  x.insert(x.end(), d.x.begin(), d.x.end());
  y.insert(y.end(), d.y.begin(), d.y.end());
  group.resize(x.size(), 2.0);
  const GroupsResult groups =
      curve_fit_groups(nlsq::model("linear"), x, y, group, {}, GroupOptions(poisson()));
  CHECK(groups.succeeded == 2);
}

TEST_CASE("A curve that ends at 0 is named with the row, not blamed on the callable") {
  Counts d;  // the likelihood of the last rows grows until the line is 0 there
  d.y = {1, 4, 2, 3, 0, 0, 6, 0, 2, 5, 0, 1, 1, 2, 2, 0, 1, 2, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0};
  for (std::size_t i = 0; i < d.y.size(); ++i) d.x.push_back(10.0 * static_cast<double>(i) / 29);
  const FitResult fit = curve_fit("a*x+b", d.x, d.y, {}, poisson());
  std::string said = fit.summary.message;
  for (const std::string& warning : fit.warnings) said += warning;
  CHECK(contains(said, "the curve is all but 0 in row 29, which has no counts"));
  // A decay to 0 has such rows, too, but it has a minimum.
  const FitResult good = curve_fit("a*exp(-b*x)", d.x, d.y, {}, poisson());
  CHECK(good.success());
  CHECK(good.warnings.empty());
}

TEST_CASE("The scale of counts is known, so as many parameters as rows are no reason to warn") {
  const std::vector<double> x = {0, 1}, y = {50, 20};
  const FitResult fit = curve_fit("a*exp(-b*x)", x, y, {{"a", 40}, {"b", 1}}, poisson());
  REQUIRE(fit.success());
  CHECK(fit.warnings.empty());
  CHECK(fit.standard_errors[0] == doctest::Approx(std::sqrt(50.0)).epsilon(1e-6));
  const ProfileInterval of_a = profile_intervals("a*exp(-b*x)", x, y, fit, poisson()).intervals.front();
  // The likelihood of one count of 50 is highest at 50, and the deviance at both ends is 1.96².
  for (const double end : {of_a.lower, of_a.upper})
    CHECK(2 * (50 * std::log(50 / end) - 50 + end) == doctest::Approx(1.959964 * 1.959964).epsilon(1e-5));
}
