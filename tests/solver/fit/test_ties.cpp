// Tests parameters that follow from others.
#include <nlsq/nlsq.hpp>

#include "messages.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace nlsq;

namespace {

struct Data {
  std::vector<double> x, y;
};
Data two_peaks(std::size_t rows = 120) {
  Data d;
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal(0, 0.05);
  for (std::size_t i = 0; i < rows; ++i) {
    const double x = 10 * static_cast<double>(i) / static_cast<double>(rows);
    d.x.push_back(x);
    d.y.push_back(3 * std::exp(-std::pow((x - 3) / 0.8, 2)) + 1.5 * std::exp(-std::pow((x - 6) / 0.8, 2)) +
                  0.4 + normal(random));
  }
  return d;
}

// The parameters are h1, m1, w1, h2, m2, w2, c.
const auto peaks = [](const auto& x, const auto& p) {
  using std::exp;
  const auto u = (x - p[1]) / p[2], v = (x - p[4]) / p[5];
  return p[0] * exp(-u * u) + p[3] * exp(-v * v) + p[6];
};
constexpr const char* kPeaks = "h1*exp(-((x-m1)/w1)^2)+h2*exp(-((x-m2)/w2)^2)+c";
const std::vector<double> kStart = {2.5, 2.8, 1.0, 1.0, 6.3, 1.0, 0.0};

FitOptions tied(std::vector<std::string> ties) {
  FitOptions o;
  o.ties = std::move(ties);
  return o;
}

}  // namespace

TEST_CASE("A tie is the model with the expression in its place") {
  const Data d = two_peaks();
  const NamedValues start = {{"h1", 2.5}, {"m1", 2.8}, {"w1", 1}, {"m2", 6.3}, {"c", 0}};
  const FitResult typed = curve_fit("h1*exp(-((x-m1)/w1)^2)+(h1/2)*exp(-((x-m2)/w1)^2)+c", d.x, d.y, start);
  const FitResult fit = curve_fit(kPeaks, d.x, d.y, start, tied({"w2 = w1", "h2=h1/2"}));
  REQUIRE(fit.success());
  // The parameters h1 m1 w1 h2 m2 w2 c are compared with h1 m1 w1 m2 c.
  const int same[] = {0, 1, 2, -1, 3, -1, 4};
  for (std::size_t j = 0; j < 7; ++j) {
    if (same[j] < 0) continue;
    const auto k = static_cast<std::size_t>(same[j]);
    CHECK(fit.parameters[j] == doctest::Approx(typed.parameters[k]).epsilon(1e-12));
    CHECK(fit.standard_errors[j] == doctest::Approx(typed.standard_errors[k]).epsilon(1e-10));
  }
  CHECK(fit.parameters[5] == fit.parameters[2]);
  CHECK(fit.parameters[3] == fit.parameters[0] / 2);
  CHECK(fit.standard_errors[3] == doctest::Approx(fit.standard_errors[0] / 2));
  CHECK(fit.correlation(0, 3) == doctest::Approx(1));
  CHECK(fit.covariance(3, 1) == doctest::Approx(fit.covariance(0, 1) / 2));
  CHECK(fit.ties[5] == "w1");
  CHECK(fit.ties[0].empty());
  CHECK_FALSE(fit.fixed[5]);
  CHECK(fit.dof == 120 - 5);
  CHECK(fit.aic == doctest::Approx(typed.aic));
}

TEST_CASE("Ties of callables: recorded, by dual numbers, by differences, prepared") {
  const Data d = two_peaks();
  FitOptions o = tied({"p5 = p2", "p3 = p0*exp(-p6)"});
  const FitResult traced = curve_fit(peaks, d.x, d.y, kStart, o);
  const FitResult dual = curve_fit(untraced(peaks), d.x, d.y, kStart, o);
  const FitResult differences =
      curve_fit([](double x, const std::vector<double>& p) { return peaks(x, p); }, d.x, d.y, kStart, o);
  const FitResult prepared =
      curve_fit(PreparedModel(make_model_function(peaks), d.x, kStart), d.x, d.y,
                NamedValues{{"p0", 2.5}, {"p1", 2.8}, {"p2", 1}, {"p4", 6.3}, {"p6", 0}}, o);
  CHECK(traced.summary.evaluator == "graph");
  CHECK(dual.summary.evaluator == "dual");
  CHECK(differences.summary.evaluator == "finite differences");
  for (const FitResult* fit : {&traced, &dual, &differences, &prepared}) {
    CAPTURE(fit->summary.message);
    CHECK(fit->success());
    for (std::size_t j = 0; j < 7; ++j) {
      CHECK(fit->parameters[j] == doctest::Approx(traced.parameters[j]).epsilon(1e-7));
      CHECK(fit->standard_errors[j] == doctest::Approx(traced.standard_errors[j]).epsilon(1e-5));
    }
    CHECK(fit->parameters[3] == doctest::Approx(fit->parameters[0] * std::exp(-fit->parameters[6])));
  }
  // The expected error follows from the delta method, computed by hand.
  const double e = std::exp(-traced.parameters[6]), h = traced.parameters[0];
  const double variance = e * e * traced.covariance(0, 0) - 2 * e * h * e * traced.covariance(0, 6) +
                          h * e * h * e * traced.covariance(6, 6);
  CHECK(traced.standard_errors[3] == doctest::Approx(std::sqrt(variance)).epsilon(1e-8));
}

TEST_CASE("Ties in a chain, of a fixed parameter, of a constant; with a loss and in a built-in model") {
  const Data d = two_peaks();
  FitOptions o = tied({"m2 = m1 + gap()"});
  CHECK_THROWS_AS(curve_fit(kPeaks, d.x, d.y, {}, o), ValidationError);
  o = tied({"w2 = h2*w1/h2", "h2 = h1/2", "m2 = 2*c + m2start"});
  CHECK(contains(message_of<ValidationError>([&] { curve_fit(kPeaks, d.x, d.y, {}, o); }), "m2start"));
  o = tied({"w2 = h2*w1/h2", "h2 = h1/2", "c = 0.4"});
  o.fixed = {"m1"};
  o.loss = Loss::huber(0.1);
  const FitResult fit = curve_fit(kPeaks, d.x, d.y, {{"h1", 2.5}, {"m1", 3}, {"w1", 1}, {"m2", 6.3}}, o);
  CHECK(fit.success());
  CHECK(fit.parameters[5] == doctest::Approx(fit.parameters[2]).epsilon(1e-14));
  CHECK(fit.parameters[6] == 0.4);
  CHECK(fit.standard_errors[6] == 0);
  CHECK(fit.standard_errors[1] == 0);
  CHECK(fit.dof == 120 - 3);
  const Model& model = nlsq::model("exp");
  std::vector<double> x, y;
  for (int i = 0; i < 40; ++i)
    x.push_back(0.1 * i), y.push_back(2 * std::exp(-0.7 * x.back()) + 1 + 0.01 * std::sin(37.0 * i));
  const FitResult built_in = curve_fit(model, x, y, {}, tied({"c = a/2"}));
  CHECK(built_in.success());
  CHECK(built_in.parameters[2] == built_in.parameters[0] / 2);
  CHECK(built_in.parameters[0] == doctest::Approx(2).epsilon(0.01));
}

TEST_CASE("Ties of a batch are those of its fits") {
  const Data d = two_peaks(60);
  Matrix Y(3, 60), P0(1, 7);
  for (std::size_t f = 0; f < 3; ++f) {
    for (std::size_t i = 0; i < 60; ++i) Y(f, i) = d.y[i] * (1 + 0.1 * static_cast<double>(f));
  }
  for (std::size_t j = 0; j < 7; ++j) P0(0, j) = kStart[j];
  BatchOptions o;
  o.ties = {"w2=w1"};
  const BatchResult many = curve_fit_batch(kPeaks, d.x, Y, P0, o);
  CHECK(many.certified == 3);
  const FitResult one =
      curve_fit(kPeaks, d.x, d.y, {{"h1", 2.5}, {"m1", 2.8}, {"w1", 1}, {"h2", 1}, {"m2", 6.3}, {"c", 0}},
                tied({"w2=w1"}));
  for (std::size_t j = 0; j < 7; ++j) {
    CHECK(many.parameters(0, j) == doctest::Approx(one.parameters[j]).epsilon(1e-10));
    CHECK(many.standard_errors(0, j) == doctest::Approx(one.standard_errors[j]).epsilon(1e-8));
  }
}

// Its standard error was undefined, although that of a derived quantity of the same text was not.
TEST_CASE("A tie that depends on a parameter on a bound and on others varies with the others") {
  const Data d = two_peaks();
  FitOptions o = tied({"w2 = w1*h1/2"});
  constexpr double kNone = std::numeric_limits<double>::infinity();
  o.bounds = {-kNone, {2, kNone, kNone, kNone, kNone, kNone, kNone}};
  const FitResult fit = curve_fit(kPeaks, d.x, d.y, {{"h1", 2}, {"m1", 2.8}, {"w1", 1}, {"m2", 6.3}}, o);
  CAPTURE(fit.summary.message);
  REQUIRE(fit.at_bound[0]);
  const auto place = [&](const char* name) {
    return static_cast<std::size_t>(std::ranges::find(fit.parameter_names, name) -
                                    fit.parameter_names.begin());
  };
  const std::size_t h1 = place("h1"), w1 = place("w1"), w2 = place("w2");
  CHECK(fit.standard_errors[w2] == doctest::Approx(fit.parameters[h1] / 2 * fit.standard_errors[w1]));
  CHECK(fit.standard_errors[w2] == doctest::Approx(derive(fit, {"q = w1*h1/2"}, o)[0].standard_error));
  CHECK_FALSE(fit.standard_errors[h1] > 0);
}

TEST_CASE("Invalid ties are refused by name") {
  const Data d = two_peaks(30);
  const auto refused = [&](std::vector<std::string> ties, std::vector<std::string> fixed = {},
                           NamedValues p0 = {}) {
    FitOptions o = tied(std::move(ties));
    o.fixed = std::move(fixed);
    return message_of<ValidationError>([&] { curve_fit(kPeaks, d.x, d.y, p0, o); });
  };
  CHECK(contains(refused({"q = 2*h1"}), "no parameter 'q'"));
  CHECK(contains(refused({"w2 = 2*q"}), "no parameter 'q'"));
  CHECK(contains(refused({"w2"}), "parameter = expression"));
  CHECK(contains(refused({"w2 = "}), "tie 'w2 = '"));
  CHECK(contains(refused({"w2 = 2*(w1"}), "tie 'w2 = 2*(w1'"));
  CHECK(contains(refused({"w2 = w2 + 1"}), "depends on itself"));
  CHECK(contains(refused({"w2 = w1", "w1 = h1", "h1 = 3*w2"}), "depends on itself"));
  CHECK(contains(refused({"w2 = w1", "w2 = h1"}), "tied twice"));
  CHECK(contains(refused({"w2 = w1"}, {"w2"}), "fixed"));
  CHECK(contains(refused({"w2 = w1"}, {}, {{"w2", 1}}), "is tied"));
  BatchOptions o;
  o.ties = {"q=1"};
  Matrix P0(1, 7), Y(2, 30);
  CHECK_THROWS_AS(curve_fit_batch(kPeaks, d.x, Y, P0, o), ValidationError);
}
