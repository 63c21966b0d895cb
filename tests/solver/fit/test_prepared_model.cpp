// Tests that a prepared model gives for one data set after the other what a model prepared for each would
// give.
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <thread>

using namespace nlsq;

namespace {

struct Decay {
  std::vector<double> x, y;
  explicit Decay(double rate, int rows = 40) {
    for (int i = 0; i < rows; ++i) {
      x.push_back(0.1 * i);
      y.push_back(3 * std::exp(-rate * x.back()) + 1 + 0.01 * std::sin(11.0 * i));
    }
  }
};

// Returns true if all numbers are equal, where NaN equals NaN.
bool same(const double* a, const double* b, std::size_t count) {
  return std::equal(a, a + count, b,
                    [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

void check_same(const FitResult& a, const FitResult& b) {
  CHECK(a.parameter_names == b.parameter_names);
  CHECK(a.parameters == b.parameters);
  REQUIRE(a.standard_errors.size() == b.standard_errors.size());
  CHECK(same(a.standard_errors.data(), b.standard_errors.data(), a.standard_errors.size()));
  CHECK(same(a.covariance.data(), b.covariance.data(), a.standard_errors.size() * a.standard_errors.size()));
  CHECK(a.rss == b.rss);
  CHECK(a.r_squared == b.r_squared);
  CHECK(a.summary.verdict == b.summary.verdict);
  CHECK(a.summary.message == b.summary.message);
  CHECK(a.summary.evaluator == b.summary.evaluator);
  CHECK(a.summary.iterations.size() == b.summary.iterations.size());
  CHECK(a.summary.precision.counters.rows_f64 == b.summary.precision.counters.rows_f64);
  CHECK(a.summary.counted_work == b.summary.counted_work);
}

}  // namespace

TEST_CASE("a prepared formula gives the bits of the formula, for data of any length in any order") {
  const PreparedModel model("a*exp(-b*x)+c");
  CHECK(model.parameter_names() == std::vector<std::string>{"a", "b", "c"});
  CHECK(model.predictors() == 1);
  const NamedValues p0{{"a", 1}, {"b", 1}, {"c", 0}};
  for (const int rows : {40, 4, 700, 40, 3000, 4}) {
    CAPTURE(rows);
    const Decay data(0.7, rows);
    check_same(curve_fit(model, data.x, data.y, p0), curve_fit("a*exp(-b*x)+c", data.x, data.y, p0));
  }
}

TEST_CASE("one prepared model serves other fixed parameters, sigma and none") {
  const PreparedModel model("a*exp(-b*x)+c");
  const Decay data(0.5);
  const std::vector<double> sigma(data.x.size(), 0.01);
  for (int round = 0; round < 2; ++round) {
    for (const bool weighted : {false, true}) {
      for (const bool fix : {false, true}) {
        FitOptions options;
        if (weighted) options.sigma = sigma;
        if (fix) options.fixed = {"c"};
        const NamedValues p0{{"a", 1}, {"b", 1}, {"c", 1.1}};
        const FitResult fit = curve_fit(model, data.x, data.y, p0, options);
        check_same(fit, curve_fit("a*exp(-b*x)+c", data.x, data.y, p0, options));
        if (fix) CHECK(fit.parameters[2] == 1.1);
      }
    }
  }
  FitOptions all;
  all.fixed = {"a", "b", "c"};
  check_same(curve_fit(model, data.x, data.y, {3, 0.5, 1}, all),
             curve_fit("a*exp(-b*x)+c", data.x, data.y, {{"a", 3}, {"b", 0.5}, {"c", 1}}, all));
}

TEST_CASE("a built-in model finds its first guess, prepared or not") {
  const PreparedModel prepared(model("exp"));
  for (const double rate : {0.2, 1.5}) {
    const Decay data(rate);
    check_same(curve_fit(prepared, data.x, data.y), curve_fit(model("exp"), data.x, data.y));
  }
}

TEST_CASE("a formula with a left side is fitted to its response") {
  const PreparedModel prepared(parse_formula("log(y) = a - b*x"));
  const Decay data(0.5);
  check_same(curve_fit(prepared, data.x, data.y),
             curve_fit(parse_formula("log(y) = a - b*x"), data.x, data.y));
}

TEST_CASE(
    "a callable is recorded when it is prepared; branches met later are recorded by the fit that meets "
    "them") {
  const auto ramp = [](const auto& x, const auto& p) {
    return x < p[0] ? p[1] + 0 * x : p[1] + p[2] * (x - p[0]);
  };
  std::vector<double> x, flat, bent;
  for (int i = 0; i < 60; ++i) {
    x.push_back(0.1 * i);
    flat.push_back(1 + 0.01 * std::sin(3.0 * i));
    bent.push_back((x.back() < 2.55 ? 1 : 1 + 2 * (x.back() - 2.55)) + 0.01 * std::sin(3.0 * i));
  }
  const PreparedModel model(make_model_function(ramp), x, {100, 1, 1}, {"at", "level", "slope"});
  CHECK(model.parameter_names() == std::vector<std::string>{"at", "level", "slope"});
  FitOptions options;
  options.fixed = {"at"};
  const FitResult first = curve_fit(model, x, flat, {100, 0.5, 1}, options);
  CHECK(first.parameters[1] == doctest::Approx(1).epsilon(0.01));
  const FitResult kinked = curve_fit(model, x, bent, {2.5, 0.5, 1}, {});
  CHECK(kinked.success());
  CHECK(kinked.parameters[0] == doctest::Approx(2.55).epsilon(0.02));
  check_same(curve_fit(model, x, bent, {2.5, 0.5, 1}, {}), kinked);
  check_same(curve_fit(model, x, flat, {100, 0.5, 1}, options), first);
}

TEST_CASE("callables that cannot be recorded are fitted as without preparation, and the summary says why") {
  const Decay data(0.6);
  const auto in_double = [](double x, const std::vector<double>& p) {
    return p[0] * std::exp(-p[1] * x) + p[2];
  };
  const PreparedModel model(make_model_function(in_double), data.x, {1, 1, 0});
  const FitResult fit = curve_fit(model, data.x, data.y, {1, 1, 0});
  check_same(fit, curve_fit(in_double, data.x, data.y, {1, 1, 0}));
  CHECK(fit.summary.evaluator == "finite differences");
  CHECK(fit.summary.evaluator_note == "the callable takes double alone");
}

TEST_CASE("threads may fit by one prepared model at once") {
  const PreparedModel model("a*exp(-b*x)+c");
  std::vector<std::vector<double>> found(8);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < found.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 10; ++round) {
        const Decay data(0.3 + 0.1 * static_cast<double>(t));
        found[t] = curve_fit(model, data.x, data.y, {1, 1, 0}).parameters;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < found.size(); ++t) {
    const Decay data(0.3 + 0.1 * static_cast<double>(t));
    CHECK(found[t] == curve_fit("a*exp(-b*x)+c", data.x, data.y, {{"a", 1}, {"b", 1}, {"c", 0}}).parameters);
  }
}

TEST_CASE("wrong starts, predictors and names are told") {
  const PreparedModel model("a*exp(-b*x)");
  const Decay data(0.6);
  CHECK_THROWS_AS(curve_fit(model, data.x, data.y, std::vector<double>{1}), ValidationError);
  CHECK_THROWS_AS(curve_fit(model, data.x, data.y, NamedValues{{"z", 1}}), ValidationError);
  CHECK_THROWS_AS(curve_fit(model, {data.x, data.x}, data.y, {1, 1}), DataError);
  FitOptions options;
  options.parameter_names = {"p", "q"};
  CHECK_THROWS_AS(curve_fit(model, data.x, data.y, {1, 1}, options), ValidationError);
  CHECK_THROWS_AS(PreparedModel("a*exp("), FormulaError);
}
