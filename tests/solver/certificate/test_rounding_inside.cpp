// Tests minima that rounding errors of numbers inside a function hide, as in (p + 1e8) - 1e8, and bounds on
// which rounding makes parameters end. A success is at most a tenth of a standard error from the minimum,
// which is computed here in long double. Noise in some of the last digits of y counts as none.
#include <nlsq/curve_fit.hpp>
#include <nlsq/least_squares.hpp>

#include "expression/twofold.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

using namespace nlsq;

namespace {

using Long = long double;

double uniform(std::mt19937& random) { return 2 * static_cast<double>(random()) / 0x1p32 - 1; }

// Holds y = 0.3 + 0.7 t with noise, for t from -9.5 to 9.5.
struct Line {
  std::vector<double> t, y;

  Line(double noise, std::mt19937& random) {
    for (int i = 0; i < 20; ++i) {
      t.push_back(i - 9.5);
      y.push_back(0.3 + 0.7 * t.back() + noise * uniform(random));
    }
  }
  // Returns the distance from p to the minimum, in standard errors.
  double distance(std::span<const double> p) const {
    Long mean = 0, slope = 0, squares = 0, off = 0;
    for (std::size_t i = 0; i < t.size(); ++i) mean += Long(y[i]) / 20, slope += Long(t[i]) * y[i] / 665;
    for (std::size_t i = 0; i < t.size(); ++i) {
      squares += std::pow(mean + slope * t[i] - y[i], Long(2)) / 18;
      off += std::pow(p[0] - mean + (p[1] - slope) * t[i], Long(2));
    }
    return static_cast<double>(std::sqrt(off / squares));
  }
};

// Fits lines with noise from 1e-2 to 1e-13. Returns the number of successes.
int successes_of(const std::function<std::vector<double>(const Line&)>& fit) {
  std::mt19937 random(19);
  int successes = 0;
  for (int k = 0; k < 48; ++k) {
    const double noise = std::pow(10.0, -2 - 11 * k / 47.0);
    const Line line(noise, random);
    const std::vector<double> p = fit(line);
    if (p.empty()) continue;
    ++successes;
    CAPTURE(noise);
    CHECK(line.distance(p) <= 0.1);
  }
  return successes;
}

// Returns the residuals of all rows of a line: residual(i) for row i.
template <class Residual>
auto residuals_of(const Line& line, Residual residual) {
  std::vector<std::decay_t<decltype(residual(std::size_t(0)))>> r;
  for (std::size_t i = 0; i < line.t.size(); ++i) r.push_back(residual(i));
  return r;
}

std::vector<double> end_of(const LeastSquaresResult& fit) {
  return fit.success() ? std::vector<double>(fit.x.begin(), fit.x.end()) : std::vector<double>();
}

}  // namespace

TEST_CASE("a number inside a formula that is far larger than all terms hides no noise") {
  for (const std::string formula : {"((a+b*x)+1e6)-1e6", "((a+b*x)+1e8)-1e8"}) {
    CAPTURE(formula);
    const int successes = successes_of([&](const Line& line) -> std::vector<double> {
      const FitResult fit =
          curve_fit(PreparedModel{std::string_view(formula)}, line.t, line.y, NamedValues());
      return fit.success() ? std::vector<double>(fit.parameters.begin(), fit.parameters.end())
                           : std::vector<double>();
    });
    CHECK(successes >= 14);
  }
}

TEST_CASE(
    "a large number inside a function of residuals hides no noise, even if it is added to the data alone") {
  for (const double large : {1e6, 1e8, 1e10}) {
    CAPTURE(large);
    const int beside_parameters = successes_of([&](const Line& line) {
      return end_of(least_squares(
          [&](const auto& p) {
            return residuals_of(
                line, [&](std::size_t i) { return ((p[0] + p[1] * line.t[i]) + large) - large - line.y[i]; });
          },
          {1.0, 1.0}));
    });
    CHECK((beside_parameters >= 12 || large > 1e9));
    const int beside_data = successes_of([&](const Line& line) {
      return end_of(least_squares(
          [&](const auto& p) {
            return residuals_of(line, [&](std::size_t i) {
              const double product = large * line.t[i];
              return p[0] + p[1] * line.t[i] - line.y[i] + large * line.t[i] - product;
            });
          },
          {1.0, 1.0}));
    });
    CHECK(beside_data >= 12);
  }
}

TEST_CASE("a large number inside a function that is only called hides no noise") {
  for (const double large : {1e6, 1e8, 1e10}) {
    CAPTURE(large);
    const int successes = successes_of([&](const Line& line) {
      return end_of(least_squares(
          [&](const std::vector<double>& p) {
            return residuals_of(
                line, [&](std::size_t i) { return ((p[0] + p[1] * line.t[i]) + large) - large - line.y[i]; });
          },
          {1.0, 1.0}));
    });
    CHECK((successes >= 12 || large > 1e7));  // beyond, all noise is refused
  }
  // Without such a number, the same functions succeed, also for exact data.
  std::mt19937 random(7);
  for (const double noise : {0.0, 1e-15, 1e-12, 1e-8, 1e-2}) {
    CAPTURE(noise);
    const Line line(noise, random);
    CHECK(least_squares(
              [&](const std::vector<double>& p) {
                return residuals_of(line, [&](std::size_t i) { return p[0] + p[1] * line.t[i] - line.y[i]; });
              },
              {1.0, 1.0})
              .success());
  }
}

namespace {

// Holds a cubic in x with noise, and the least cubic through it.
struct Cubic {
  std::vector<double> x, y;
  std::vector<Long> value;  // of the least cubic
  Long best[4] = {};        // its coefficients
  Long squares = 0;         // of its residuals

  Cubic(double middle, double noise, std::mt19937& random) {
    Long a[4], in_u[4] = {};
    for (Long& c : a) c = uniform(random);
    for (int i = -15; i < 15; ++i) {
      const Long u = i / Long(15);
      x.push_back(middle + i);
      y.push_back(static_cast<double>(a[0] + u * (a[1] + u * (a[2] + u * a[3]))) + noise * uniform(random));
    }
    value.assign(x.size(), 0);
    // The least cubic is the sum of the projections of y on polynomials in u that are orthogonal to each
    // other.
    std::vector<std::vector<Long>> before, powers;
    for (std::size_t j = 0; j < 4; ++j) {
      std::vector<Long> column, power(4, 0);
      power[j] = 1;
      for (int i = -15; i < 15; ++i) column.push_back(std::pow(i / Long(15), static_cast<Long>(j)));
      for (std::size_t l = 0; l < j; ++l) {
        const Long share = dot(before[l], column) / dot(before[l], before[l]);
        for (std::size_t i = 0; i < column.size(); ++i) column[i] -= share * before[l][i];
        for (std::size_t c = 0; c < 4; ++c) power[c] -= share * powers[l][c];
      }
      const Long share = dot(column, y) / dot(column, column);
      for (std::size_t i = 0; i < column.size(); ++i) value[i] += share * column[i];
      for (std::size_t c = 0; c < 4; ++c) in_u[c] += share * power[c];
      before.push_back(std::move(column));
      powers.push_back(std::move(power));
    }
    const Long s = 1 / Long(15), m = -middle * s;  // u = s x + m
    best[0] = in_u[0] + m * (in_u[1] + m * (in_u[2] + m * in_u[3]));
    best[1] = s * (in_u[1] + m * (2 * in_u[2] + 3 * m * in_u[3]));
    best[2] = s * s * (in_u[2] + 3 * m * in_u[3]);
    best[3] = s * s * s * in_u[3];
    for (std::size_t i = 0; i < x.size(); ++i) squares += (value[i] - y[i]) * (value[i] - y[i]) / 26;
  }
  // Returns the distance from p to the minimum, in standard errors. The terms at p cancel, so they have twice
  // the digits.
  double distance(std::span<const double> p) const {
    Long off = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      Twofold there;
      for (std::size_t j = 4; j-- > 0;) there = twofold_sum(twofold_product(there, {x[i], 0}), {p[j], 0});
      const Long from = Long(there.high) + there.low - value[i];
      off += from * from;
    }
    return static_cast<double>(std::sqrt(off / squares));
  }

 private:
  static Long dot(const auto& a, const auto& b) {
    Long sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  }
};

}  // namespace

TEST_CASE("a bound that float64 alone seems to hold is not the end of a fit") {
  // One coefficient has a bound beyond its best value, so that the bound does not hold it. The fit begins
  // there if the bound is near. Some coefficients have a bound on the other side, too.
  std::mt19937 random(7);
  int successes = 0;
  for (int k = 0; k < 200; ++k) {
    const double noise = std::pow(10.0, -2 - 10 * k / 199.0);
    const Cubic data(k % 2 == 0 ? 3e4 : 1e5, noise, random);
    std::vector<double> lower(4, -HUGE_VAL), upper(4, HUGE_VAL);
    const std::size_t bounded = random() % 4;
    const double best = static_cast<double>(data.best[bounded]);
    const double room = std::fabs(best) * std::pow(10.0, -static_cast<double>(random() % 8));
    const bool below = random() % 2 == 0, both = k % 3 == 0;
    if (below || both) lower[bounded] = best - room;
    if (!below || both) upper[bounded] = best + room;
    FitOptions options;
    options.bounds = Bounds(lower, upper);
    NamedValues start;
    for (std::size_t j = 0; j < 4; ++j) {
      const double far = 1.1 * static_cast<double>(data.best[j]);
      start.push_back({std::string(1, "abcd"[j]), std::clamp(far, lower[j], upper[j])});
    }
    const FitResult fit =
        curve_fit(PreparedModel{std::string_view("a+b*x+c*x^2+d*x^3")}, data.x, data.y, start, options);
    CAPTURE(noise);
    CAPTURE(bounded);
    if (fit.success()) CHECK(data.distance(fit.parameters) <= 0.1);
    successes += fit.success();
  }
  CHECK(successes >= 50);
}

TEST_CASE("exact data whose minimum the bounds allow, or that have kinks, succeed as they did") {
  std::mt19937 random(9);
  const std::vector<double> sigma(20, 0.1);
  int kinks = 0;
  for (int k = 0; k < 20; ++k) {
    Line line(0, random);
    const double slope = uniform(random);
    FitOptions options;
    options.sigma = sigma;
    options.bounds = Bounds({0.0, -HUGE_VAL}, {HUGE_VAL, HUGE_VAL});
    for (std::size_t i = 0; i < line.t.size(); ++i) line.y[i] = slope * line.t[i];
    CHECK(curve_fit("a+b*x", line.t, line.y, {}, options).success());  // a is 0, on its bound
    for (std::size_t i = 0; i < line.t.size(); ++i) line.y[i] = std::fabs(line.t[i] - 0.5) * slope;
    kinks += least_squares(
                 [&](const std::vector<double>& p) {
                   return residuals_of(
                       line, [&](std::size_t i) { return p[0] * std::fabs(line.t[i] - p[1]) - line.y[i]; });
                 },
                 {slope * 1.1, 0.52})
                 .success();
  }
  CHECK(kinks >= 18);
}
