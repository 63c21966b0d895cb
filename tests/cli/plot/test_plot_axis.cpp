// Tests axes, tick marks, the points of curves and the normal quantiles of pictures.
#include "plot/axis.hpp"

#include "plot/curve.hpp"
#include "plot/normal_quantiles.hpp"
#include "plot/plot_data.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

using namespace nlsq::cli;

namespace {

// Returns the largest vertical distance between `f` and the straight lines between the points.
template <class F>
double largest_gap(const CurvePoints& points, F f) {
  double gap = 0;
  for (std::size_t i = 1; i < points.x.size(); ++i) {
    for (int k = 1; k < 20; ++k) {
      const double t = k / 20.0, x = points.x[i - 1] + t * (points.x[i] - points.x[i - 1]);
      gap = std::max(gap, std::fabs(f(x) - (points.y[i - 1] + t * (points.y[i] - points.y[i - 1]))));
    }
  }
  return gap;
}

template <class F>
CurveFunction of(F f) {
  return [f](const std::vector<double>& x) {
    std::vector<double> y;
    for (const double v : x) y.push_back(f(v));
    return y;
  };
}

}  // namespace

TEST_CASE("an axis holds every finite value, with a margin") {
  const double inf = std::numeric_limits<double>::infinity();
  for (const bool log : {false, true}) {
    const std::vector<double> values = {3, 1, std::nan(""), 20, inf};
    const Axis axis = axis_for(values, log);
    CHECK(axis.low < 1);
    CHECK(axis.high > 20);
    CHECK(axis.high < 40);
    CHECK(axis.place(axis.low) == doctest::Approx(0));
    CHECK(axis.place(axis.high) == doctest::Approx(1));
  }
}

TEST_CASE("an axis has a range even if the values have none") {
  for (const std::vector<double>& values :
       {std::vector<double>{}, {0.0}, {5.0, 5.0}, {-1e300}, {1e-320, 1e-320}, {-1.7e308, 1.7e308}}) {
    for (const bool log : {false, true}) {
      const Axis axis = axis_for(values, log);
      CAPTURE(axis.low);
      CAPTURE(axis.high);
      CHECK(axis.low < axis.high);
      CHECK(std::isfinite(axis.place(0.5 * axis.low + 0.5 * axis.high)));
    }
  }
}

TEST_CASE("ticks are round numbers within the axis, rising, and not too many") {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-12, 12), mantissa(-10, 10);
  for (int trial = 0; trial < 500; ++trial) {
    const double a = mantissa(random) * std::pow(10, exponent(random));
    const double b = mantissa(random) * std::pow(10, exponent(random));
    const Axis axis{std::min(a, b), std::max(a, b), false};
    const std::vector<Tick> ticks = axis.ticks(6);
    CHECK(ticks.size() >= 2);
    CHECK(ticks.size() <= 7);
    for (std::size_t i = 0; i < ticks.size(); ++i) {
      CHECK(axis.place(ticks[i].value) >= -1e-9);
      CHECK(axis.place(ticks[i].value) <= 1 + 1e-9);
      CHECK(std::stod(ticks[i].text) == doctest::Approx(ticks[i].value).epsilon(1e-9));
      if (i > 0) CHECK(ticks[i].value > ticks[i - 1].value);
      if (i > 0) CHECK(ticks[i].text != ticks[i - 1].text);
    }
  }
}

TEST_CASE("ticks of known axes") {
  const auto texts = [](const Axis& axis, int wanted, bool plain = false) {
    std::string out;
    for (const Tick& tick : axis.ticks(wanted, plain)) out += tick.text + " ";
    return out;
  };
  CHECK(texts({0, 10, false}, 5) == "0 2 4 6 8 10 ");
  CHECK(texts({-1, 1, false}, 4) == "-1.0 -0.5 0 0.5 1.0 ");
  CHECK(texts({0.9, 1100, true}, 8) == "1 10 100 1000 ");
  CHECK(texts({1e-9, 1e9, true}, 6) == "10⁻⁹ 10⁻⁶ 0.001 1 1000 10⁶ 10⁹ ");
  CHECK(texts({1e-9, 1e9, true}, 6, true) == "1e-9 1e-6 0.001 1 1000 1e6 1e9 ");
  CHECK(texts({2, 60, true}, 6) == "2 5 10 20 50 ");
}

TEST_CASE("a logarithmic axis is chosen for values that are positive, span three decades and crowd below") {
  std::vector<double> decades, even, with_zero, two_decades;
  for (int i = 0; i <= 60; ++i) {
    decades.push_back(std::pow(10, i / 20.0));
    two_decades.push_back(std::pow(10, i / 30.0));
    even.push_back(0.001 + i);
    with_zero.push_back(i == 0 ? 0 : std::pow(10, i / 20.0));
  }
  CHECK(asks_for_log(decades, 12));
  CHECK_FALSE(asks_for_log(two_decades, 12));
  CHECK_FALSE(asks_for_log(even, 12));
  CHECK_FALSE(asks_for_log(with_zero, 12));
  CHECK_FALSE(asks_for_log(decades, 2));
  CHECK_FALSE(asks_for_log({}, 12));
}

TEST_CASE("curves follow the model to a thousandth of its height, steep peaks and waves included") {
  const auto peak = [](double x) { return 3 - 50 * std::exp(-0.5 * std::pow((x - 0.4) / 0.002, 2)); };
  const auto wave = [](double x) { return std::sin(400 * x); };
  const auto line = [](double x) { return 2 * x; };
  const CurvePoints peaked = curve_points(of(peak), 0, 1, {}, false, false, 2000);
  CHECK(largest_gap(peaked, peak) < 0.15);  // the grid of candidates is part of the error
  CHECK(*std::min_element(peaked.y.begin(), peaked.y.end()) < -46.8);
  CHECK(peaked.x.size() < 500);
  CHECK(largest_gap(curve_points(of(wave), 0, 1, {}, false, false, 2000), wave) < 0.01);
  CHECK(curve_points(of(line), 0, 1, {}, false, false, 2000).x.size() == 257);
}

TEST_CASE("a peak between the points of the grid is drawn if the data show it") {
  const double at = 0.5 + 0.3 / 4096;
  const auto peak = [at](double x) { return std::exp(-0.5 * std::pow((x - at) / 1e-6, 2)); };
  const CurvePoints without = curve_points(of(peak), 0, 1, {}, false, false, 2000);
  const std::vector<double> data = {at};
  const CurvePoints with = curve_points(of(peak), 0, 1, data, false, false, 2000);
  CHECK(*std::max_element(without.y.begin(), without.y.end()) < 0.5);
  CHECK(*std::max_element(with.y.begin(), with.y.end()) == 1);
}

TEST_CASE("curves keep within the wanted number of points") {
  const auto wave = [](double x) { return std::sin(1500 * x); };
  const std::size_t points = curve_points(of(wave), 0, 1, {}, false, false, 600).x.size();
  CHECK(points <= 600);
  CHECK(points >= 257);
}

TEST_CASE("a curve ends where the model is not finite") {
  const auto root = [](double x) { return std::sqrt(x - 0.37); };
  const CurvePoints points = curve_points(of(root), 0, 1, {}, false, false, 2000);
  double first = 2;
  for (std::size_t i = 0; i < points.x.size(); ++i)
    if (std::isfinite(points.y[i])) first = std::min(first, points.x[i]);
  CHECK(first >= 0.37);
  CHECK(first < 0.37 + 1.0 / 4000);
  CHECK(points.x.size() < 400);
}

TEST_CASE("curve points rise, from end to end, on both kinds of axes") {
  for (const bool log : {false, true}) {
    const std::vector<double> data = {0.1, 0.5, 0.5, 100, 7};
    const CurvePoints points =
        curve_points(of([](double x) { return 1 / x; }), 0.1, 100, data, log, log, 2000);
    CHECK(points.x.front() == 0.1);
    CHECK(points.x.back() == 100);
    for (std::size_t i = 1; i < points.x.size(); ++i) CHECK(points.x[i] > points.x[i - 1]);
  }
}

TEST_CASE("normal quantiles: published values, and all residuals of few rows") {
  // These are z for (i - 1/2)/5 = 0.1, 0.3, 0.5, 0.7, 0.9 (Abramowitz and Stegun, table 26.5).
  const NormalQuantiles q = normal_quantiles({4, -2, 0, 1, -1}, 2);
  REQUIRE(q.normal.size() == 5);
  const std::vector<double> z = {-1.2815515655, -0.5244005127, 0, 0.5244005127, 1.2815515655};
  const std::vector<double> r = {-1, -0.5, 0, 0.5, 2};
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(q.normal[i] == doctest::Approx(z[i]).epsilon(1e-9));
    CHECK(q.residual[i] == r[i]);
  }
}

TEST_CASE("normal quantiles of many rows: both ends are kept, and normal numbers lie on the line") {
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise(0, 3);
  std::vector<double> residuals(200000);
  for (double& r : residuals) r = noise(random);
  residuals[17] = 90;
  const NormalQuantiles q = normal_quantiles(residuals, 3);
  CHECK(q.normal.size() > 300);
  CHECK(q.normal.size() < 600);
  CHECK(q.residual.back() == 30);
  CHECK(q.residual.front() == *std::min_element(residuals.begin(), residuals.end()) / 3);
  for (std::size_t i = 0; i < q.normal.size(); ++i) {
    if (std::fabs(q.normal[i]) < 3) CHECK(std::fabs(q.normal[i] - q.residual[i]) < 0.1);
  }
}

TEST_CASE("there are no normal quantiles of residuals that do not scatter") {
  CHECK(normal_quantiles({0, 0, 0}, 0).normal.empty());
  CHECK(normal_quantiles({0, 1, 0}, std::nan("")).normal.empty());
}

TEST_CASE("texts are cut between characters") {
  CHECK(shortened("αβγδ", 4) == "αβγδ");
  CHECK(shortened("αβγδε", 4) == "αβγ…");
  CHECK(shortened("abc", 1) == "…");
}
