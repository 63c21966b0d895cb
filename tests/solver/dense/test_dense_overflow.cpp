// Tests tiles that overflow in f32 and are evaluated again in f64. If residuals are not finite in f64 either,
// the point is not finite.

#include "dense/dense_evaluator.hpp"

#include <nlsq/nlsq.hpp>
#include "rows/residual_sources.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tables.hpp"

#include "dense_rows.hpp"

using namespace nlsq;
using tables::Table;
using tables::TableRows;
using namespace dense_rows;

TEST_CASE("tiles that overflow in f32 alone are redone in f64, and only those") {
  const std::size_t m = 256 * 400, per = 256;
  Table high = Table::random(m, 3, 6), low = high.rounded();
  for (const std::size_t t : {17u, 399u}) {  // 0.5 % of the tiles
    low.columns[1][t * per + 100] = INFINITY;
    high.columns[1][t * per + 100] = 1e20;  // squares overflow in f32, rows do not in f64
  }
  TableRows rows(high, low, per);
  DenseEvaluator evaluator(rows);
  for (const PrecisionPlan& plan : {tile, wide}) {
    const std::uint64_t before = evaluator.counters().rows_f64;
    const Linearization at = evaluator.linearize(Vector(3, 1.0), plan);
    CHECK(at.finite);
    CHECK(at.nonfinite_tiles == 2.0 / 400);
    CHECK(evaluator.counters().rows_f64 - before == 2 * per);
    CHECK(at.normal(1, 1) == doctest::Approx(2e40));
  }
}

TEST_CASE("a fit in which 0.5 % of the rows overflow in f32 ends with f64's answer") {
  // exp(0.9 x) exceeds f32's 3.4e38 beyond x = 98.6, in the last 30 of 6,000 rows.
  std::vector<double> x, y, sigma;
  for (int i = 0; i < 6000; ++i) {
    x.push_back(i < 5970 ? 60.0 * i / 5970 : 99 + 0.01 * (i - 5970));
    const double f = 2 * std::exp(0.9 * x.back());
    y.push_back(f * (1 + 1e-3 * std::sin(12.9898 * i)));
    sigma.push_back(1e-3 * f);
  }
  FitOptions options;
  options.sigma = sigma;
  options.precision = PrecisionPolicy::all_f64();
  const FitResult exact = curve_fit("a*exp(b*x)", x, y, {{"a", 1.9}, {"b", 0.9005}}, options);
  options.precision = PrecisionPolicy::parse("f32");
  const FitResult low = curve_fit("a*exp(b*x)", x, y, {{"a", 1.9}, {"b", 0.9005}}, options);
  REQUIRE(exact.success());
  CHECK(low.success());
  CHECK(low.summary.precision.counters.rows_f32 > 0);
  for (std::size_t j = 0; j < 2; ++j)
    CHECK(low.parameters[j] == doctest::Approx(exact.parameters[j]).epsilon(1e-9));
}

TEST_CASE("residuals that are not finite in f64 either make the point not finite") {
  Table t = Table::random(1000, 2, 12);
  t.columns[2][777] = NAN;
  for (const PrecisionPlan& plan : {tile, wide, f64, qr}) {
    TableRows rows(t, t, 256);
    DenseEvaluator evaluator(rows);
    CHECK_FALSE(evaluator.linearize(Vector(2, 1.0), plan).finite);
    CHECK_FALSE(std::isfinite(evaluator.cost(Vector(2, 1.0), plan.residual)));
    const RowSizes sizes = evaluator.sizes(Vector(2, 1.0));
    CHECK_FALSE(sizes.finite);
    CHECK(sizes.row == 777);
  }
}

TEST_CASE("if f32 overflows at the other point, its cost is still that of f64") {
  FormulaRows data("a*exp(b*x)", 100'000, [](double x) { return std::exp(x); });
  DenseEvaluator evaluator(*data.rows);
  Linearization at;
  const Vector far{1, 50};  // squares of exp(50) leave the range of f32
  CHECK(evaluator.linearize_beside(Vector{1, 1}, wide, far, Format::f32, at) ==
        doctest::Approx(evaluator.cost(far, Format::f64)).epsilon(1e-5));
}

// Far to the left both curves are 0, and so are their derivatives, whose factors are 0 and infinity.
TEST_CASE("a row far from the growth of Gompertz and Richards curves refuses no step") {
  std::vector<double> x, gompertz, richards;
  for (int i = 0; i < 60; ++i) {
    x.push_back(i < 2 ? -2000 + 900 * i : 0.17 * i);
    const double noise = 0.02 * std::sin(12.9898 * i * i);
    gompertz.push_back(5 * std::exp(-8 * std::exp(-0.9 * x.back())) + noise);
    richards.push_back(5 * std::pow(1 + 20 * std::exp(-1.3 * x.back()), -1 / 0.7) + noise);
  }
  const auto check = [&](const std::string& formula, const auto& code, const std::vector<double>& y,
                         const std::vector<double>& p0) {
    CAPTURE(formula);
    const FitResult by_code = curve_fit(code, x, y, p0);
    CHECK(by_code.success());
    NamedValues start;
    for (std::size_t j = 0; j < p0.size(); ++j) start.emplace_back(std::string(1, char('a' + j)), p0[j]);
    const FitResult fit = curve_fit(formula, x, y, start);
    CHECK(fit.success());
    CHECK(fit.parameters == by_code.parameters);  // to the bit
    // Without the far rows the answer is the same, because these have no derivative.
    const std::vector<double> near_x(x.begin() + 2, x.end()), near_y(y.begin() + 2, y.end());
    const FitResult near = curve_fit(formula, near_x, near_y, start);
    REQUIRE(near.success());
    for (std::size_t j = 0; j < p0.size(); ++j)
      CHECK(std::fabs(fit.parameters[j] - near.parameters[j]) <= 1e-5 * near.standard_errors[j]);
  };
  check("a*exp(-b*exp(-c*x))",
        [](const auto& t, const auto& p) {
          using std::exp;
          return p[0] * exp(-p[1] * exp(-p[2] * t));
        },
        gompertz, {4, 5, 0.7});
  check("a/(1+b*exp(-c*x))^(1/d)",
        [](const auto& t, const auto& p) {
          using std::exp, std::pow;
          return p[0] / pow(1 + p[1] * exp(-p[2] * t), 1 / p[3]);
        },
        richards, {4, 12, 1, 1});
}
