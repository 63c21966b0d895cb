// Tests that curve_fit refuses what cannot be fitted, by name and place, and survives trial points outside
// the domain.

#include <nlsq/certify.hpp>
#include <nlsq/groups.hpp>
#include <nlsq/nlsq.hpp>

#include "messages.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "decay_data.hpp"

using namespace nlsq;
using namespace decays;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("as many rows as parameters are enough, fewer are an error that says so") {
  const Data d = decay_data(3);
  CHECK(curve_fit("a*exp(-b*x)+c", d.x, d.y).success());
  const std::vector<double> x{1, 2}, y{3, 4};
  const std::string message = message_of<DataError>([&] { curve_fit("a*exp(-b*x)+c", x, y); });
  CHECK(contains(message, "2 rows cannot determine 3 parameters"));
  CHECK(contains(message_of<DataError>([&] { curve_fit(decay, x, y, {1, 1, 1}); }), "2 rows"));
  const std::vector<double> none;
  CHECK(contains(message_of<DataError>([&] { curve_fit("a", none, none); }), "no data rows"));
}

TEST_CASE("data that are not numbers are refused, with column, row and value") {
  Data d = decay_data();
  d.y[17] = kNaN;
  try {
    curve_fit("a*exp(-b*x)+c", d.x, d.y);
    FAIL("accepted");
  } catch (const DataError& error) {
    CHECK(error.row() == 17);
    CHECK(error.column() == 1);
    CHECK(contains(error.what(), "y has 1 value(s)"));
    CHECK(contains(error.what(), "nan in row 17"));
  }
  d = decay_data();
  d.x[3] = INFINITY;
  CHECK(contains(message_of<DataError>([&] { curve_fit(decay, d.x, d.y, {1, 1, 1}); }), "x has 1 value(s)"));
  FitOptions options;
  for (const double bad : {0.0, -1.0, kNaN}) {
    std::vector<double> sigma(50, 1.0);
    sigma[49] = bad;
    options.sigma = sigma;
    const std::string message = message_of<DataError>(
        [&] { curve_fit("a*exp(-b*x)+c", decay_data().x, decay_data().y, {}, options); });
    CHECK(contains(message, "sigma has 1 value(s) that are not positive and finite"));
    CHECK(contains(message, "row 49"));
  }
}

TEST_CASE("columns that do not fit together are refused") {
  const Data d = decay_data();
  const std::vector<double> few(10, 1.0);
  CHECK(contains(message_of<DataError>([&] { curve_fit("a*x", few, d.y); }), "x has 10 rows, y has 50"));
  FitOptions options;
  options.sigma = few;
  CHECK(
      contains(message_of<DataError>([&] { curve_fit("a*x", d.x, d.y, {}, options); }), "sigma has 10 rows"));
  CHECK(contains(message_of<DataError>([&] { curve_fit(model("exp"), {d.x, d.x}, d.y); }), "predictor"));
  CHECK_THROWS_AS(curve_fit(model("gaussian2d"), d.x, d.y), DataError);
}

TEST_CASE("unknown names, values that are not finite and unsound options are refused by name") {
  const Data d = decay_data();
  const auto fit = [&](const NamedValues& p0, const FitOptions& options) {
    return message_of<ValidationError>([&] { curve_fit("a*exp(-b*x)+c", d.x, d.y, p0, options); });
  };
  CHECK(contains(fit({{"k", 1}}, {}), "no parameter 'k'; its parameters are a, b, c"));
  CHECK(contains(fit({{"a", kNaN}}, {}), "a = nan is not finite"));
  FitOptions options;
  options.fixed = {"z"};
  CHECK(contains(fit({}, options), "fixed: the model has no parameter 'z'"));
  options.fixed.clear();
  options.xtol = -1;
  options.max_iterations = -5;
  options.tau = INFINITY;
  const std::string all = fit({}, options);
  CHECK(contains(all, "xtol = -1"));
  CHECK(contains(all, "max_iterations = -5"));
  CHECK(contains(all, "tau = inf"));
  CHECK_THROWS_AS(curve_fit("a*exp(-b*", d.x, d.y), FormulaError);
  FitOptions names;
  names.parameter_names = {"a", "b", "c", "d"};
  CHECK_THROWS_AS(curve_fit(decay, d.x, d.y, {1, 1, 1}, names), ValidationError);
}

TEST_CASE("an exception of a callable is rethrown, and the data are as they were") {
  const Data d = decay_data(), before = d;
  for (const int when : {0, 3, 200}) {
    CAPTURE(when);
    int calls = 0;
    const auto f = [&](double x, const std::vector<double>& p) {
      // This throws from some call on. If it throws where a parameter is only tried, that is taken as
      // nonlinear.
      if (calls++ >= when) throw std::domain_error("by the user");
      return p[0] * std::exp(-p[1] * x) + p[2];
    };
    const std::vector<double> p0{1, 1, 0};
    CHECK_THROWS_WITH_AS(curve_fit(f, d.x, d.y, p0), "by the user", std::domain_error);
    CHECK(p0 == std::vector<double>{1, 1, 0});
  }
  const auto generic = [](const auto& x, const auto& p) {
    if (p.size() == 3) throw std::domain_error("always");
    return p[0] * x;
  };
  CHECK_THROWS_AS(curve_fit(generic, d.x, d.y, {1, 1, 1}), std::domain_error);
  CHECK(d.x == before.x);
  CHECK(d.y == before.y);
}

TEST_CASE("residuals not finite at the start are a failure that names the row and leaves p0") {
  const Data d = decay_data();
  const FitResult fit = curve_fit("a*log(x-b)+c", d.x, d.y, {{"a", 1}, {"b", 1}, {"c", 0}});
  CHECK(fit.summary.termination == Termination::failure);
  CHECK(fit.summary.verdict == Verdict::failed);
  CHECK_FALSE(fit.success());
  CHECK(fit.parameters == std::vector<double>{1, 1, 0});
  CHECK(contains(fit.summary.message, "row 0"));
  for (const double error : fit.standard_errors) CHECK(std::isnan(error));
  const auto f = [](const auto& x, const auto& p) {
    using std::log;
    return p[0] * log(2.0 - x) + p[1];  // x passes 2 at row 25
  };
  const FitResult callable = curve_fit(f, d.x, d.y, {1, 1});
  CHECK(callable.summary.termination == Termination::failure);
  CHECK(contains(callable.summary.message, "row 25"));
  const auto plain = [](double x, const std::vector<double>& p) { return p[0] * std::log(2.0 - x) + p[1]; };
  const FitResult by_differences = curve_fit(plain, d.x, d.y, {1, 1});
  CHECK(by_differences.summary.termination == Termination::failure);
  CHECK(contains(by_differences.summary.message, "row 25"));
}

TEST_CASE("a trial point outside the domain is rejected and the fit goes on") {
  std::vector<double> x, y;
  for (int i = 0; i < 40; ++i) {
    x.push_back(0.1 * i);
    y.push_back(std::sqrt(0.05 + 2 * x.back()) + 0.001 * std::sin(i));
  }
  FitOptions options;
  options.initial_lambda = 0;
  const FitResult fit = curve_fit("sqrt(a+b*x)", x, y, {{"a", 8}, {"b", 0.1}}, options);
  CHECK(fit.success());
  int invalid = 0;
  for (const IterationSummary& it : fit.summary.iterations) invalid += it.outcome == StepOutcome::invalid;
  CHECK(invalid > 0);
  CHECK(fit.parameters[1] == doctest::Approx(2).epsilon(0.01));
}

TEST_CASE("a callable without starting values is refused before it is called") {
  const Data d = decay_data();
  const auto fit = [&](auto model) {
    return message_of<Error>([&] { curve_fit(model, d.x, d.y, std::vector<double>{}); });
  };
  CHECK(contains(fit(decay), "p0 is empty"));
  CHECK(contains(fit(decay), "Give a starting value for each"));
  CHECK(contains(fit(untraced(decay)), "p0 is empty"));
  CHECK(contains(fit([](double x, std::span<const double> p) { return p[0] * x; }), "p0 is empty"));
  CHECK(contains(message_of<Error>([&] { curve_fit(decay, d.x, d.y, {}); }), "p0 is empty"));
  CHECK(contains(message_of<Error>([&] { certify(decay, d.x, d.y, {}); }), "p0 is empty"));
}

TEST_CASE("a formula of several parameters that uses no predictor is refused") {
  const Data d = decay_data();
  const auto message = [&](const char* formula) {
    return message_of<ValidationError>([&] { curve_fit(formula, d.x, d.y); });
  };
  CHECK(contains(message("a*exp(-t/tau)"),
                 "uses no predictor (x): a, t, tau are its parameters and cannot be told apart; write x"));
  CHECK(contains(message("log(y) = a+b"), "uses no predictor"));
  // Batches and groups prepare the model from a text.
  CHECK(contains(message_of<ValidationError>([] { PreparedModel("a*exp(-t/tau)"); }), "uses no predictor"));
  CHECK(PreparedModel("a+b", 0).parameter_names().size() == 2);
  CHECK(curve_fit("a*1", d.x, d.y).success());            // one parameter is allowed, it is the mean
  CHECK(curve_fit("y/(1+x) = a*1", d.x, d.y).success());  // the left side uses x
}

TEST_CASE("a callable that reads more parameters than have starting values is refused") {
  std::vector<double> x, y;
  for (int i = 0; i < 60; ++i) {
    x.push_back(i / 15.0);
    y.push_back(2.5 * std::exp(-1.3 * x.back()) + 0.5 + 0.03 * std::sin(37 * i));
  }
  const auto generic = [](const auto& t, const auto& p) {
    using std::exp;
    return p[0] * exp(-p[1] * t) + p[2];
  };
  const auto of_span = [](double t, std::span<const double> p) { return p[0] * std::exp(-p[1] * t); };
  const auto of_pointer = [](double t, const double* p) { return p[0] * std::exp(-p[1] * t); };
  const char* const words = "reads p[1] or beyond, but has 1 starting value: give one for each";
  const auto refused = [&](auto fit) {
    std::string what;
    try {
      fit();
    } catch (const ValidationError& e) {
      what = e.what();
    }
    CAPTURE(what);
    CHECK(what.find(words) != std::string::npos);
  };
  refused([&] { curve_fit(generic, x, y, {1.0}); });
  refused([&] { curve_fit(of_span, x, y, {1.0}); });
  refused([&] { curve_fit(of_pointer, x, y, {1.0}); });
  refused([&] {
    least_squares(
        [&](const auto& p) {
          using std::exp;
          std::vector<std::decay_t<decltype(p[0] + p[0])>> r;
          for (std::size_t i = 0; i < x.size(); ++i) r.push_back(p[0] * exp(-p[1] * x[i]) - y[i]);
          return r;
        },
        {1.0});
  });
  // These prepare a callable: a batch, groups, an evaluation, a prediction and a bootstrap.
  Matrix start(1, 1, 1.0);
  refused([&] { PreparedModel(make_model_function(of_span), Columns(x), {1.0}); });
  refused([&] { curve_fit_batch(generic, x, y, start); });
  refused([&] { curve_fit_batch(of_pointer, x, y, start); });
  refused([&] { curve_fit_groups(generic, x, y, std::vector<double>(x.size(), 1.0), {1.0}); });
  refused([&] { evaluate(generic, x, {1.0}); });
  refused([&] { evaluate(of_span, x, {1.0}); });
  const FitResult line = curve_fit([](const auto& t, const auto& p) { return p[0] * t; }, x, y, {1.0});
  refused([&] { predict(generic, x, line); });
  refused([&] { bootstrap(generic, x, y, line); });
  CHECK_THROWS_AS(predict(generic, x, FitResult()), ValidationError);
  CHECK_THROWS_AS(predict(of_span, x, FitResult()), ValidationError);
  // A vector is copied for each call, and called residuals are not called only for this, so they end as NaN.
  const auto of_vector = [](double t, const std::vector<double>& p) { return p[0] * std::exp(-p[1] * t); };
  CHECK_FALSE(curve_fit(of_vector, x, y, {1.0}).success());
  const LeastSquaresResult called = least_squares(
      [&](std::span<const double> p) {
        std::vector<double> r;
        for (std::size_t i = 0; i < x.size(); ++i) r.push_back(of_span(x[i], p) - y[i]);
        return r;
      },
      std::vector<double>{1.0});
  CHECK_FALSE(called.success());
  CHECK(curve_fit(generic, x, y, {1.0, 1.0, 0.0}).success());
  // A model that is not a number at the start is another matter, which the fit itself reports.
  const auto undefined = [](double t, std::span<const double> p) { return p[0] * std::sqrt(-1 - t); };
  CHECK(curve_fit(undefined, x, y, {1.0}).summary.termination == Termination::failure);
}
