// Tests curve_fit as users call it: three kinds of model, any data, options, and every error by name.
#include <nlsq/nlsq.hpp>

#include "messages.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "decay_data.hpp"

using namespace nlsq;
using namespace decays;

namespace {

void check_same(const FitResult& a, const FitResult& b, double tolerance) {
  REQUIRE(a.parameters.size() == b.parameters.size());
  for (std::size_t j = 0; j < a.parameters.size(); ++j) {
    CHECK(a.parameters[j] == doctest::Approx(b.parameters[j]).epsilon(tolerance));
    CHECK(a.standard_errors[j] == doctest::Approx(b.standard_errors[j]).epsilon(1e-7));
  }
}

}  // namespace

TEST_CASE("a callable, a formula and a model give the same fit") {
  const Data d = decay_data();
  const FitResult by_callable = curve_fit(decay, d.x, d.y, {1.0, 1.0, 0.0});
  const FitResult by_formula = curve_fit("a*exp(-b*x)+c", d.x, d.y, {{"a", 1}, {"b", 1}, {"c", 0}});
  const FitResult by_model = curve_fit(model("exp"), d.x, d.y);
  for (const FitResult* fit : {&by_callable, &by_formula, &by_model}) {
    CHECK(fit->success());
    CHECK(fit->summary.evaluator == "graph");
    CHECK(fit->rows == 50);
    CHECK(fit->dof == 47);
    CHECK(fit->r_squared > 0.99);
    CHECK(fit->parameters[1] == doctest::Approx(1.3).epsilon(0.05));
  }
  check_same(by_callable, by_formula, 1e-12);
  check_same(by_model, by_formula, 1e-9);
  CHECK(by_callable.parameter_names == std::vector<std::string>{"p0", "p1", "p2"});
  CHECK(by_formula.parameter_names == std::vector<std::string>{"a", "b", "c"});
  CHECK(by_formula.guess == std::vector<double>{1, 1, 0});
}

TEST_CASE("statistics follow their definitions") {
  const Data d = decay_data();
  const FitResult fit = curve_fit("a*exp(-b*x)+c", d.x, d.y);
  double rss = 0, mean = 0, total = 0;
  for (const double y : d.y) mean += y / 50;
  for (std::size_t i = 0; i < 50; ++i) {
    rss +=
        std::pow(fit.parameters[0] * std::exp(-fit.parameters[1] * d.x[i]) + fit.parameters[2] - d.y[i], 2);
    total += std::pow(d.y[i] - mean, 2);
  }
  CHECK(fit.rss == doctest::Approx(rss).epsilon(1e-12));
  CHECK(fit.chi2_reduced == doctest::Approx(rss / 47).epsilon(1e-12));
  CHECK(fit.r_squared == doctest::Approx(1 - rss / total).epsilon(1e-12));
  CHECK(fit.aic == doctest::Approx(50 * std::log(rss / 50) + 2 * 4).epsilon(1e-10));
  CHECK(fit.bic == doctest::Approx(50 * std::log(rss / 50) + 4 * std::log(50.0)).epsilon(1e-10));
  CHECK(fit.summary.final_cost == doctest::Approx(rss / 2).epsilon(1e-12));
  CHECK(fit.summary.initial_cost > fit.summary.final_cost);
}

TEST_CASE("several predictors: a callable by x[k], a formula by x1, x2, a model by columns") {
  std::vector<double> u, v, z;
  for (int i = 0; i < 60; ++i) {
    u.push_back(std::sin(i)), v.push_back(std::cos(1.7 * i));
    z.push_back(3 * std::exp(0.5 * u.back()) * (1 + 0.2 * v.back()) + 0.01 * std::sin(99 * i));
  }
  const auto f = [](const auto& x, const auto& p) {
    using std::exp;
    return p[0] * exp(p[1] * x[0]) * (1.0 + p[2] * x[1]);
  };
  const FitResult a = curve_fit(f, {Column(u), Column(v)}, z, {1.0, 1.0, 1.0});
  const FitResult b = curve_fit("a*exp(b*x1)*(1+c*x2)", {u, v}, z, {{"a", 1}, {"b", 1}, {"c", 1}});
  CHECK(a.success());
  CHECK(b.success());
  check_same(a, b, 1e-11);
  CHECK(a.parameters[1] == doctest::Approx(0.5).epsilon(0.01));
}

TEST_CASE("columns of any element type and stride are read as the numbers they hold") {
  const Data d = decay_data(40);
  std::vector<double> rounded = d.x, wide;
  std::vector<float> narrow;
  std::vector<int> counts;
  std::vector<std::int16_t> ticks;
  for (std::size_t i = 0; i < 40; ++i) {
    narrow.push_back(static_cast<float>(d.x[i]));
    rounded[i] = static_cast<double>(narrow[i]);
    counts.push_back(static_cast<int>(std::lround(1000 * d.y[i])));
    ticks.push_back(static_cast<std::int16_t>(i));
    wide.insert(wide.end(), {d.x[i], -1, d.y[i]});  // a table of three columns
  }
  check_same(curve_fit(decay, narrow, d.y, {1, 1, 0}), curve_fit(decay, rounded, d.y, {1, 1, 0}), 1e-13);
  const FitResult strided =
      curve_fit(decay, Column(wide.data(), 40, 3), Column(wide.data() + 2, 40, 3), {1, 1, 0});
  check_same(strided, curve_fit(decay, d.x, d.y, {1, 1, 0}), 1e-13);
  const std::vector<double> as_double(counts.begin(), counts.end()), index(ticks.begin(), ticks.end());
  check_same(curve_fit("a*exp(-b*x/10)+c", ticks, counts), curve_fit("a*exp(-b*x/10)+c", index, as_double),
             1e-13);
  // These are the same rows in reverse order.
  check_same(curve_fit(decay, Column(d.x.data() + 39, 40, -1), Column(d.y.data() + 39, 40, -1), {1, 1, 0}),
             curve_fit(decay, d.x, d.y, {1, 1, 0}), 1e-9);
}

TEST_CASE("rows from a source are fitted like columns, sigma where there is one column more") {
  class Source final : public RowSource {
   public:
    explicit Source(int columns) : columns_(columns) {}
    std::size_t rows() const override { return 500; }
    int columns() const override { return columns_; }
    void read(std::size_t first, std::size_t count, int column, double* out) const override {
      for (std::size_t i = 0; i < count; ++i) {
        const double x = 0.01 * static_cast<double>(first + i);
        out[i] = column == 0 ? x : column == 1 ? 2 * std::exp(-x) + 0.1 * std::sin(50 * x) : 0.1 + 0.02 * x;
      }
    }

   private:
    int columns_;
  };
  std::vector<double> x(500), y(500), sigma(500);
  const Source source(3);
  source.read(0, 500, 0, x.data()), source.read(0, 500, 1, y.data()), source.read(0, 500, 2, sigma.data());
  const auto f = make_model_function([](const auto& t, const auto& p) {
    using std::exp;
    return p[0] * exp(-p[1] * t);
  });
  check_same(curve_fit(f, std::make_shared<Source>(2), {1, 2}), curve_fit(f, x, y, {1, 2}), 1e-13);
  FitOptions options;
  options.sigma = sigma;
  check_same(curve_fit(f, std::make_shared<Source>(3), {1, 2}), curve_fit(f, x, y, {1, 2}, options), 1e-13);
  check_same(curve_fit(parse_formula("a*exp(-b*x)"), std::make_shared<Source>(3)),
             curve_fit(f, x, y, {1, 1}, options), 1e-9);
}

TEST_CASE("a column of a row source stands wherever a column does, with the same bits") {
  // A user's own source, with a decay that is computed when it is read.
  class Decay final : public RowSource {
   public:
    std::size_t rows() const override { return 70000; }
    int columns() const override { return 3; }
    void read(std::size_t first, std::size_t count, int column, double* out) const override {
      for (std::size_t i = 0; i < count; ++i) {
        const double x = 1e-4 * static_cast<double>(first + i);
        out[i] = column == 0 ? x : column == 1 ? 2 * std::exp(-x) + 0.1 * std::sin(50 * x) : 0.1 + 0.02 * x;
      }
    }
    using RowSource::read;
  };
  const Decay source;
  std::vector<double> columns[3];
  for (int c = 0; c < 3; ++c) {
    columns[c].resize(source.rows());
    source.read(0, source.rows(), c, columns[c].data());
  }
  const auto same_bits = [](const FitResult& a, const FitResult& b) {
    CHECK(a.success());
    CHECK(a.parameters == b.parameters);
    CHECK(a.standard_errors == b.standard_errors);
    CHECK(a.rss == b.rss);
    CHECK(a.summary.iterations.size() == b.summary.iterations.size());
  };
  const Column x(source, 0), y(source, 1);
  CHECK(x[12345] == columns[0][12345]);
  FitOptions streamed, in_memory;
  streamed.sigma = Column(source, 2);
  in_memory.sigma = columns[2];
  same_bits(curve_fit(model("exp"), x, y), curve_fit(model("exp"), columns[0], columns[1]));
  same_bits(curve_fit("a*exp(-b*x)", x, y, {}, streamed),
            curve_fit("a*exp(-b*x)", columns[0], columns[1], {}, in_memory));
  streamed.precision = in_memory.precision = PrecisionPolicy::all_f64();
  same_bits(curve_fit("a*exp(-b*x)", x, y, {}, streamed),
            curve_fit("a*exp(-b*x)", columns[0], columns[1], {}, in_memory));
  CHECK_THROWS_AS(Column(source, 3), DataError);
  CHECK_THROWS_AS(Column(source, -1), DataError);
}

TEST_CASE("fixed parameters stay where they start, whatever the model came as") {
  const Data d = decay_data();
  FitOptions options;
  options.fixed = {"c"};
  const FitResult formula = curve_fit("a*exp(-b*x)+c", d.x, d.y, {{"c", 0.4}}, options);
  CHECK(formula.parameters[2] == 0.4);
  CHECK(formula.standard_errors[2] == 0);
  CHECK(formula.fixed == std::vector<bool>{false, false, true});
  CHECK(formula.dof == 48);
  options.fixed = {"p2"};
  const FitResult callable = curve_fit(decay, d.x, d.y, {1, 1, 0.4}, options);
  check_same(callable, formula, 1e-11);
  options.parameter_names = {"a", "b", "c"};
  options.fixed = {"c"};
  check_same(curve_fit(decay, d.x, d.y, {1, 1, 0.4}, options), formula, 1e-11);
}

TEST_CASE("all parameters fixed: the cost is evaluated and that is all") {
  const Data d = decay_data();
  FitOptions options;
  options.fixed = {"a", "b", "c"};
  const FitResult fit = curve_fit("a*exp(-b*x)+c", d.x, d.y, {{"a", 2.5}, {"b", 1.3}, {"c", 0.5}}, options);
  CHECK(fit.success());
  CHECK(fit.parameters == std::vector<double>{2.5, 1.3, 0.5});
  CHECK(fit.rss == doctest::Approx(50 * 0.02 * 0.02).epsilon(0.5));
  CHECK(fit.dof == 50);
  CHECK(fit.summary.iterations.empty());
  CHECK(contains(fit.summary.message, "fixed"));
}

TEST_CASE("a left side over the response is fitted on its own scale") {
  std::vector<double> x, y;
  for (int i = 1; i <= 40; ++i) {
    x.push_back(0.1 * i);
    y.push_back(std::exp(1.5 - 0.8 * x.back() + 0.05 * std::sin(31 * i)));
  }
  std::vector<double> log_y;
  for (const double v : y) log_y.push_back(std::log(v));
  const FitResult left = curve_fit("log(y) = a - b*x", x, y), plain = curve_fit("a - b*x", x, log_y);
  CHECK(left.success());
  check_same(left, plain, 1e-11);
  CHECK(left.r_squared == doctest::Approx(plain.r_squared).epsilon(1e-10));
  CHECK(left.rss == doctest::Approx(plain.rss).epsilon(1e-10));
}

TEST_CASE("constant y has no R², and a perfect fit of it is still certified") {
  const std::vector<double> x{1, 2, 3, 4, 5}, y(5, 7.0);
  const FitResult fit = curve_fit("a+b*x", x, y);
  CHECK(fit.success());
  CHECK(std::isnan(fit.r_squared));
  CHECK(fit.parameters[0] == doctest::Approx(7));
  CHECK(std::fabs(fit.parameters[1]) < 1e-12);
}

TEST_CASE("callables of every kind agree: recorded, dual, differenced; spans, vectors and pointers") {
  const Data d = decay_data();
  const FitResult graph = curve_fit(decay, d.x, d.y, {1, 1, 0});
  const FitResult dual = curve_fit(untraced(decay), d.x, d.y, {1, 1, 0});
  CHECK(dual.summary.evaluator == "dual");
  check_same(dual, graph, 1e-11);
  const FitResult span =
      curve_fit([](double x, std::span<const double> p) { return p[0] * std::exp(-p[1] * x) + p[2]; }, d.x,
                d.y, {1, 1, 0});
  CHECK(span.summary.evaluator == "finite differences");
  check_same(span, graph, 1e-8);
  const FitResult pointer = curve_fit(
      [](double x, const double* p) { return p[0] * std::exp(-p[1] * x) + p[2]; }, d.x, d.y, {1, 1, 0});
  check_same(pointer, graph, 1e-8);
  CHECK(contains(pointer.summary.evaluator_note, "double alone"));
  CHECK(contains(dual.summary.evaluator_note, "not to be recorded"));
}

TEST_CASE(
    "reports name verdict, precision and kernel, and the trace has one line an iteration between its head "
    "and the counters") {
  const Data d = decay_data();
  const FitResult fit = curve_fit("a*exp(-b*x)+c", d.x, d.y);
  const std::string brief = fit.summary.brief_report(), full = fit.summary.full_report(),
                    trace = fit.summary.trace_report();
  CHECK(contains(brief, "CONVERGED"));
  CHECK(contains(brief, "f64"));
  CHECK(contains(brief, fit.summary.kernel));
  CHECK(contains(full, "distance to optimum"));
  CHECK(std::count(trace.begin(), trace.end(), '\n') ==
        static_cast<std::ptrdiff_t>(fit.summary.iterations.size()) + 2);
  CHECK(contains(trace, "kernels counted: rows f64 "));
  CHECK(contains(fit.summary.message, "converged"));
}

TEST_CASE("strict re-evaluates every row through the callable") {
  const Data d = decay_data(20000);
  FitOptions options;
  CHECK(curve_fit(decay, d.x, d.y, {1, 1, 0}, options).summary.certificate.rechecked_rows == 1024 + 4096);
  options.strict = true;
  CHECK(curve_fit(decay, d.x, d.y, {1, 1, 0}, options).summary.certificate.rechecked_rows == 2 * 20000);
}

TEST_CASE("Gauss-Newton, geodesic acceleration and every policy end at the same minimum") {
  const Data d = decay_data(3000);
  const FitResult plain = curve_fit(decay, d.x, d.y, {1, 1, 0});
  for (const Algorithm algorithm : {Algorithm::levenberg_marquardt, Algorithm::gauss_newton}) {
    for (const Geodesic geodesic : {Geodesic::never, Geodesic::always}) {
      for (const char* policy : {"f64", "f32", "gram=f32,gate=off"}) {
        CAPTURE(policy);
        FitOptions options;
        options.algorithm = algorithm;
        options.geodesic = geodesic;
        options.precision = PrecisionPolicy::parse(policy);
        const FitResult fit = curve_fit(decay, d.x, d.y, {1, 1, 0}, options);
        CHECK(fit.success());
        check_same(fit, plain, 1e-9);
      }
    }
  }
}

TEST_CASE("a standard error is right although its square leaves the range of double") {
  std::vector<double> x, y, far_x, small_y;
  for (int i = 1; i <= 20; ++i) {
    x.push_back(i);
    y.push_back(10 + i + 0.1 * std::sin(3.0 * i));
    far_x.push_back(1e30 * x.back());
    small_y.push_back(1e-140 * y.back());
  }
  const FitResult plain = curve_fit("a+b*x", x, y), extreme = curve_fit("a+b*x", far_x, small_y);
  REQUIRE(extreme.success());
  CHECK(extreme.standard_errors[0] == doctest::Approx(1e-140 * plain.standard_errors[0]).epsilon(1e-9));
  CHECK(extreme.standard_errors[1] / 1e-170 == doctest::Approx(plain.standard_errors[1]).epsilon(1e-9));
}
