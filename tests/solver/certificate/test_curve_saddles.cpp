// Tests fits that start at a saddle, where symmetry would keep them. The slope is 0 there, J has full rank,
// and the cost falls to both sides of one direction, which mixes all parameters.
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

constexpr double kAtSaddle = 0.5;  // the cost there; at the minima it is below 0.2

// Weighted sums of all parameters, which should be 0, except for the first, whose square should be 1.
std::vector<double> mixtures(const std::vector<double>& p) {
  std::mt19937 random(static_cast<unsigned>(p.size()));
  std::uniform_real_distribution<double> unit(-1, 1);
  std::vector<double> r;
  for (std::size_t i = 0; i < p.size(); ++i) {
    double u = 0;
    for (const double number : p) u += unit(random) * number;
    r.push_back(i == 0 ? u * u - 1 : u);
    r.push_back((0.5 + 0.1 * unit(random)) * u);
  }
  return r;
}

}  // namespace

TEST_CASE(
    "a function that is only called leaves a saddle, whose differences do not show a slope of 0 exactly") {
  for (const std::size_t n : {5, 10, 16, 20, 100}) {
    CAPTURE(n);
    const LeastSquaresResult r = least_squares(mixtures, std::vector<double>(n, 0.0), {});
    INFO(r.summary.message);
    CHECK(r.summary.final_cost < 0.4 * kAtSaddle);
  }
}

// This is a maximum at a large offset. A step in proportion to the offset crosses the whole peak.
TEST_CASE("a formula leaves the top of a peak, however far from 0 it lies") {
  for (const double offset : {0.0, 1e3, 1e6, 1e9}) {
    CAPTURE(offset);
    const std::vector<double> kind{0, 0, 0, 1, 1, 1}, y(6, 0.0);
    const FitResult fit = curve_fit(fmt::format("if(x>0.5,0.3*(m-{0:.0f}),exp(-(m-{0:.0f})^2))", offset),
                                    kind, y, {{"m", offset}});
    CHECK(fit.summary.final_cost < 0.3);  // 1.5 at the top
  }
}

// The differences of a called function cross a peak if its width is at most 10⁻⁶ of the parameter.
TEST_CASE("a called function leaves the top of a peak that is a thousand times its width from 0") {
  for (const std::size_t n : {2, 20}) {
    CAPTURE(n);
    const auto tops = [](const std::vector<double>& p) {
      std::vector<double> r;
      for (const double m : p) {
        r.push_back(std::exp(-(m - 1000) * (m - 1000)));
        r.push_back(0.3 * (m - 1000));
      }
      return r;
    };
    const LeastSquaresResult found = least_squares(tops, std::vector<double>(n, 1000.0), {});
    INFO(found.summary.message);
    CHECK(found.summary.final_cost < 0.2 * 0.5 * static_cast<double>(n));  // a share of that at the top
  }
}

TEST_CASE("a formula of many parameters leaves a saddle") {
  for (const int n : {12, 20, 80}) {
    CAPTURE(n);
    std::string sum;
    std::vector<double> row, kind, y;
    NamedValues start;
    FormulaOptions options;
    options.predictors = {"x1", "x2"};
    for (int j = 0; j < n; ++j) {
      sum += fmt::format("+sin(1.3*x1*{}+{})*p{}", j + 1, 0.7 * (j + 1), j);
      start.emplace_back(fmt::format("p{}", j), 0.0);
      for (const double k : {0.0, 1.0}) {
        row.push_back(j), kind.push_back(k), y.push_back(j == 0 && k == 0 ? 1 : 0);
      }
    }
    const PreparedModel model(
        parse_formula(fmt::format("if(x2>0.5,0.5*({0}),if(x1<0.5,({0})^2,{0}))", sum), options));
    const FitResult fit = curve_fit(model, {Column(row), Column(kind)}, y, start);
    INFO(fit.summary.message);
    CHECK(fit.success());
    CHECK(fit.summary.final_cost < 0.4 * kAtSaddle);
  }
}
