// Compares profile intervals with SciPy's (profile_reference.json, by the script of that name) and with
// formulas, and tests intervals without an end.
#include <nlohmann/json.hpp>

#include <nlsq/nlsq.hpp>
#include <nlsq/profile_intervals.hpp>
#include <nlsq/statistics.hpp>

#include "messages.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <string>

#include "corpora/noise.hpp"

using namespace nlsq;

namespace {

const std::string kDemand = "a*(1-exp(-b*x))";  // Bates and Watts 1988, A1.4
const std::vector<double> kDay{1, 2, 3, 4, 5, 7}, kOxygen{8.3, 10.3, 19.0, 16.0, 15.6, 19.8};

IntervalOptions at(double confidence, std::vector<std::string> parameters = {}) {
  IntervalOptions options;
  options.confidence = confidence;
  options.parameters = std::move(parameters);
  return options;
}

}  // namespace

TEST_CASE("textbook examples: SciPy's profile intervals to seven digits") {
  std::ifstream stream(std::string(NLSQ_SOURCE_DIR) + "/tests/accuracy/profile_reference.json");
  REQUIRE(stream);
  int compared = 0;
  for (const auto& e : nlohmann::json::parse(stream)) {
    const std::string name = e.at("name"), formula = e.at("formula"), parameter = e.at("parameter");
    CAPTURE(name);
    CAPTURE(parameter);
    const auto x = e.at("x").get<std::vector<double>>(), y = e.at("y").get<std::vector<double>>();
    NamedValues start;
    for (const auto& [key, value] : e.at("start").items()) start.emplace_back(key, value.get<double>());
    const FitResult fit = curve_fit(formula, x, y, start);
    const ProfileIntervals found =
        profile_intervals(formula, Columns(x), y, fit, {}, at(e.at("confidence"), {parameter}));
    REQUIRE(found.intervals.size() == 1);
    const ProfileInterval& i = found.intervals[0];
    CHECK(i.parameter == parameter);
    CHECK(i.estimate == doctest::Approx(e.at("estimate").get<double>()).epsilon(1e-8));
    CHECK(i.lower_end == IntervalEnd::found);
    CHECK(i.upper_end == IntervalEnd::found);
    CHECK(i.lower == doctest::Approx(e.at("lower").get<double>()).epsilon(1e-7));
    CHECK(i.upper == doctest::Approx(e.at("upper").get<double>()).epsilon(1e-7));
    CHECK(i.fits < 40);
    CHECK_FALSE(found.better_found);
    ++compared;
  }
  CHECK(compared == 16);
}

TEST_CASE("the intervals of puromycin are those of R's confint, to the digits of its spline") {
  const std::vector<double> x{0.02, 0.02, 0.06, 0.06, 0.11, 0.11, 0.22, 0.22, 0.56, 0.56, 1.10, 1.10};
  const std::vector<double> y{76, 47, 97, 107, 123, 139, 159, 152, 191, 201, 207, 200};
  const FitResult fit = curve_fit("V*x/(K+x)", x, y, {{"V", 200}, {"K", 0.1}});
  const ProfileIntervals found = profile_intervals("V*x/(K+x)", Columns(x), y, fit);
  REQUIRE(found.intervals.size() == 2);
  CHECK(found.intervals[0].lower == doctest::Approx(197.302).epsilon(2e-4));
  CHECK(found.intervals[0].upper == doctest::Approx(229.290).epsilon(2e-4));
  CHECK(found.intervals[1].lower == doctest::Approx(0.046925).epsilon(2e-4));
  CHECK(found.intervals[1].upper == doctest::Approx(0.086160).epsilon(2e-4));
}

// profile_published.py names the pages that print them.
TEST_CASE(
    "the intervals of a reciprocal and of two exponentials are those in lmfit's documentation, to five "
    "decimals") {
  std::ifstream stream(std::string(NLSQ_SOURCE_DIR) + "/tests/accuracy/profile_published.json");
  REQUIRE(stream);
  int compared = 0;
  for (const auto& e : nlohmann::json::parse(stream)) {
    const std::string name = e.at("name"), formula = e.at("formula");
    CAPTURE(name);
    const auto x = e.at("x").get<std::vector<double>>(), y = e.at("y").get<std::vector<double>>();
    NamedValues start;
    for (const auto& [key, value] : e.at("start").items()) start.emplace_back(key, value.get<double>());
    const FitResult fit = curve_fit(formula, x, y, start);
    CHECK(fit.success());
    const auto confidence = e.at("confidence").get<std::vector<double>>();
    for (std::size_t k = 0; k < confidence.size(); ++k) {
      const ProfileIntervals found = profile_intervals(formula, Columns(x), y, fit, {}, at(confidence[k]));
      for (const ProfileInterval& i : found.intervals) {
        CAPTURE(i.parameter);
        CAPTURE(confidence[k]);
        CHECK(std::fabs(i.estimate - e.at("estimate").at(i.parameter).get<double>()) <= 1e-5);
        CHECK(std::fabs(i.estimate - i.lower - e.at("below").at(i.parameter)[k].get<double>()) <= 1e-5);
        CHECK(std::fabs(i.upper - i.estimate - e.at("above").at(i.parameter)[k].get<double>()) <= 1e-5);
        ++compared;
      }
    }
  }
  CHECK(compared == 14);
}

TEST_CASE("the profile interval of a linear model is the estimate ± t standard errors") {
  problems::Noise random(4);
  std::vector<double> x, y, sigma;
  for (int i = 0; i < 25; ++i) {
    x.push_back(0.2 * i);
    sigma.push_back(0.1 + 0.01 * i);
    y.push_back(1.5 - 0.7 * x.back() + sigma.back() * random.normal());
  }
  for (const bool absolute : {false, true}) {
    FitOptions options;
    options.sigma = sigma;
    options.absolute_sigma = absolute;
    const FitResult fit = curve_fit("a+b*x", x, y, {}, options);
    for (const double confidence : {0.5, 0.95, 0.999}) {
      const ProfileIntervals found = profile_intervals("a+b*x", Columns(x), y, fit, options, at(confidence));
      const double t = student_t_quantile(confidence, absolute ? INFINITY : 23);
      REQUIRE(found.intervals.size() == 2);
      for (std::size_t j = 0; j < 2; ++j) {
        CHECK(found.intervals[j].lower ==
              doctest::Approx(fit.parameters[j] - t * fit.standard_errors[j]).epsilon(1e-8));
        CHECK(found.intervals[j].upper ==
              doctest::Approx(fit.parameters[j] + t * fit.standard_errors[j]).epsilon(1e-8));
      }
      CHECK(found.threshold == doctest::Approx(t * t * (absolute ? 1 : fit.chi2_reduced)).epsilon(1e-12));
    }
  }
}

TEST_CASE("if the data do not limit a side, the interval ends there at infinity or at a bound") {
  const FitResult fit = curve_fit(kDemand, kDay, kOxygen, {{"a", 20}, {"b", 0.5}});
  // As b grows the curve becomes the mean of the data. The sum of squares then rises by 12.5 s² in all, but
  // the interval at 99 % ends where it rises by 21.2 s².
  const ProfileIntervals open = profile_intervals(kDemand, Columns(kDay), kOxygen, fit, {}, at(0.99, {"b"}));
  CHECK(open.intervals[0].upper_end == IntervalEnd::unbounded);
  CHECK(open.intervals[0].upper == INFINITY);
  CHECK(open.intervals[0].lower_end == IntervalEnd::found);
  CHECK(open.intervals[0].lower ==
        doctest::Approx(-0.0444940).epsilon(1e-5));  // beyond b = 0, where the curve is a straight line
  FitOptions options;
  options.bounds = {{0, 0}, {100, 1}};
  const FitResult bounded = curve_fit(kDemand, kDay, kOxygen, {{"a", 20}, {"b", 0.5}}, options);
  const ProfileIntervals ended =
      profile_intervals(kDemand, Columns(kDay), kOxygen, bounded, options, at(0.95, {"b"}));
  CHECK(ended.intervals[0].upper_end == IntervalEnd::at_bound);
  CHECK(ended.intervals[0].upper == 1);
  CHECK(ended.intervals[0].lower == doctest::Approx(0.1313977467).epsilon(1e-6));
}

TEST_CASE("counts: the interval of a constant is that of its deviance") {
  const std::vector<double> x{1, 2, 3, 4, 5}, y{3, 7, 4, 6, 0};
  FitOptions options;
  options.loss = Loss::poisson();
  const FitResult fit = curve_fit("a+0*x", x, y, {{"a", 3}}, options);
  CHECK(fit.parameters[0] == doctest::Approx(4));
  const ProfileIntervals found = profile_intervals("a+0*x", Columns(x), y, fit, options);
  const double z = 1.959963984540054;
  for (const double a : {found.intervals[0].lower, found.intervals[0].upper}) {
    CHECK(2 * (5 * (a - 4) - 20 * std::log(a / 4)) == doctest::Approx(z * z).epsilon(1e-7));
  }
  CHECK(found.intervals[0].lower < 4);
  CHECK(found.intervals[0].upper > 4);
}

TEST_CASE("callables and prepared models give the same intervals") {
  const auto demand = [](const auto& x, const auto& p) {
    using std::exp;
    return p[0] * (1 - exp(-p[1] * x));
  };
  FitOptions options;
  options.parameter_names = {"a", "b"};
  const FitResult fit = curve_fit(demand, kDay, kOxygen, {20.0, 0.5}, options);
  const ProfileIntervals by_callable = profile_intervals(demand, kDay, kOxygen, fit, options);
  const FitResult formula_fit = curve_fit(kDemand, kDay, kOxygen, {{"a", 20}, {"b", 0.5}});
  const ProfileIntervals by_prepared =
      profile_intervals(PreparedModel(kDemand), Columns(kDay), kOxygen, formula_fit);
  REQUIRE(by_callable.intervals.size() == 2);
  for (std::size_t j = 0; j < 2; ++j) {
    CHECK(by_callable.intervals[j].lower == doctest::Approx(by_prepared.intervals[j].lower).epsilon(1e-8));
    CHECK(by_callable.intervals[j].upper == doctest::Approx(by_prepared.intervals[j].upper).epsilon(1e-8));
  }
}

TEST_CASE("parameters on bounds, fixed and tied ones have no interval of their own") {
  FitOptions options;
  options.bounds = {0, {18, 10}};
  const FitResult fit = curve_fit(kDemand, kDay, kOxygen, {{"a", 15}, {"b", 0.5}}, options);
  REQUIRE(fit.at_bound[0]);
  const ProfileIntervals found = profile_intervals(kDemand, Columns(kDay), kOxygen, fit, options);
  REQUIRE(found.intervals.size() == 1);
  CHECK(found.intervals[0].parameter == "b");
  const auto error = [&](const IntervalOptions& wanted) {
    return message_of([&] { profile_intervals(kDemand, Columns(kDay), kOxygen, fit, options, wanted); });
  };
  CHECK(contains(error(at(0.95, {"a"})), "'a' ends on a bound, 18"));
  CHECK(contains(error(at(0.95, {"k"})), "no parameter 'k'; its parameters are a, b"));
  CHECK(contains(error(at(1.0)), "confidence = 1"));
  FitOptions fixed;
  fixed.fixed = {"a"};
  const FitResult held = curve_fit(kDemand, kDay, kOxygen, {{"a", 19}, {"b", 0.5}}, fixed);
  CHECK(contains(
      message_of([&] { profile_intervals(kDemand, Columns(kDay), kOxygen, held, fixed, at(0.95, {"a"})); }),
      "fixed or tied"));
  CHECK(profile_intervals(kDemand, Columns(kDay), kOxygen, held, fixed).intervals.size() == 1);
  FitOptions robust;
  robust.loss = Loss::huber(1);
  const FitResult outliers = curve_fit(kDemand, kDay, kOxygen, {{"a", 19}, {"b", 0.5}}, robust);
  CHECK(contains(message_of([&] { profile_intervals(kDemand, Columns(kDay), kOxygen, outliers, robust); }),
                 "no likelihood"));
}

TEST_CASE(
    "a lower cost that is found on the way is reported with its parameters; fits that do not converge make "
    "no end") {
  FitResult fit = curve_fit(kDemand, kDay, kOxygen, {{"a", 20}, {"b", 0.5}});
  const Refit lower = [&](const std::vector<double>& start, const FitOptions& options) {
    FitResult held = curve_fit(kDemand, kDay, kOxygen, {{"a", start[0]}, {"b", start[1]}}, options);
    if (start[1] > 0.6) held.summary.final_cost = 0.5 * fit.summary.final_cost;
    return held;
  };
  const ProfileIntervals better = profile_intervals_by(lower, fit, {}, at(0.95, {"b"}));
  CHECK(better.better_found);
  CHECK(better.better[1] > 0.6);
  const Refit failing = [&](const std::vector<double>&, const FitOptions&) { return FitResult{}; };
  const ProfileIntervals none = profile_intervals_by(failing, fit, {}, at(0.95, {"b"}));
  CHECK(none.intervals[0].lower_end == IntervalEnd::failed);
  CHECK(std::isnan(none.intervals[0].upper));
}
