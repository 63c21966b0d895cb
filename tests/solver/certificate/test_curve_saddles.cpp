// Fits whose start is a saddle that symmetry would keep them on: the slope is 0 there, J has full rank, and
// the cost falls to both sides of one direction, which mixes all parameters.
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <random>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

constexpr double kAtSaddle = 0.5;  // the cost there; at the minima it is below 0.2

// Sums of shares of all parameters, which should be 0, but for the first, whose square should be 1.
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
