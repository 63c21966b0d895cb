// Tests fits whose terms cancel, judged with twice the digits of float64: polynomials in years. A success is
// at most a tenth of a standard error from the minimum, which is computed here in long double about a centred
// x.
#include "certificate/ends_of_fits.hpp"
#include "expression/twofold.hpp"

#include <nlsq/curve_fit_batch.hpp>
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

using namespace nlsq;

namespace {

using Long = long double;
constexpr double kOrigin = 2007;  // the middle of the years

std::string power_series(std::size_t parameters) {
  std::string text = "c0";
  for (std::size_t k = 1; k < parameters; ++k) text += "+c" + std::to_string(k) + "*x^" + std::to_string(k);
  return text;
}

// Holds the minimum in powers of x - kOrigin, as an orthonormal basis of the columns and the rest of y.
struct Reference {
  std::vector<std::vector<Long>> basis;
  std::vector<Long> weight;
  Long sigma = 0;

  Reference(const std::vector<double>& x, const std::vector<double>& y, const std::vector<double>& sigmas,
            std::size_t n, double origin = kOrigin) {
    std::vector<Long> left;
    for (std::size_t i = 0; i < x.size(); ++i) {
      weight.push_back(sigmas.empty() ? 1 : 1 / static_cast<Long>(sigmas[i]));
      left.push_back(y[i] * weight[i]);
    }
    for (std::size_t j = 0; j < n; ++j) {
      std::vector<Long> column;
      for (std::size_t i = 0; i < x.size(); ++i)
        column.push_back(weight[i] *
                         std::pow(static_cast<Long>(x[i]) - static_cast<Long>(origin), static_cast<Long>(j)));
      for (int twice = 0; twice < 2; ++twice)
        for (const auto& other : basis) subtract(column, other, dot(column, other));
      const Long size = std::sqrt(dot(column, column));
      for (Long& value : column) value /= size;
      subtract(left, column, dot(left, column));
      basis.push_back(std::move(column));
    }
    sigma = std::sqrt(dot(left, left) / static_cast<Long>(x.size() - n));
  }

  // Returns the distance of c0 + c1 x + ... from the minimum, in standard errors.
  double distance(const std::vector<double>& x, const std::vector<double>& y,
                  std::span<const double> c) const {
    std::vector<Long> residuals;
    for (std::size_t i = 0; i < x.size(); ++i) {
      Twofold value;
      for (std::size_t j = c.size(); j-- > 0;)
        value = twofold_sum(twofold_product(value, {x[i], 0}), {c[j], 0});
      value = twofold_sum(value, {-y[i], 0});
      residuals.push_back(weight[i] * (static_cast<Long>(value.high) + static_cast<Long>(value.low)));
    }
    Long squares = 0;
    for (const auto& column : basis) squares += dot(residuals, column) * dot(residuals, column);
    return static_cast<double>(std::sqrt(squares) / sigma);
  }

 private:
  static Long dot(const std::vector<Long>& a, const std::vector<Long>& b) {
    Long sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  }
  static void subtract(std::vector<Long>& from, const std::vector<Long>& of, Long times) {
    for (std::size_t i = 0; i < from.size(); ++i) from[i] -= times * of[i];
  }
};

struct Years {
  std::vector<double> x, y, sigma;
};

// Returns a polynomial of n coefficients of size 1 over 35 years, with noise of this size.
Years years_with(double noise, std::size_t n, bool weighted, std::mt19937& random) {
  const auto uniform = [&](double from, double to) {
    return from + (to - from) * static_cast<double>(random()) / 0x1p32;
  };
  std::vector<double> a(n);
  for (double& value : a) value = uniform(-1, 1);
  Years out;
  for (int i = 0; i < 35; ++i) {
    const double t = (i - 17) / 17.0, sigma = weighted ? std::pow(10, uniform(-2, 2)) : 1;
    double y = 0;
    for (std::size_t j = n; j-- > 0;) y = y * t + a[j];
    out.x.push_back(1990 + i);
    out.y.push_back(y + noise * sigma * (uniform(-1, 1) + uniform(-1, 1) + uniform(-1, 1)));
    if (weighted) out.sigma.push_back(noise > 0 ? noise * sigma : sigma);
  }
  return out;
}

FitResult fit_of(const Years& years, std::size_t n) {
  FitOptions options;
  if (!years.sigma.empty()) options.sigma = years.sigma;
  return curve_fit(PreparedModel{std::string_view(power_series(n))}, years.x, years.y, NamedValues(),
                   options);
}

}  // namespace

TEST_CASE("a polynomial in years is at its minimum, or is no success") {
  std::mt19937 random(43);
  for (const std::size_t n : {4U, 5U}) {
    for (const bool weighted : {false, true}) {
      int successes = 0;
      for (int k = 0; k < 60; ++k) {
        const double noise = std::pow(10.0, -5 - 8 * k / 59.0);
        const Years years = years_with(noise, n, weighted, random);
        const FitResult fit = fit_of(years, n);
        CAPTURE(n);
        CAPTURE(noise);
        CAPTURE(fit.summary.certificate.decrement_sigma);
        if (!fit.success()) continue;
        ++successes;
        const Reference minimum(years.x, years.y, years.sigma, n);
        CHECK(minimum.distance(years.x, years.y, fit.parameters) <= 0.1);
      }
      CHECK(successes >= 20);  // beyond, float64 has no numbers that are near enough
    }
  }
}

TEST_CASE("a batch of polynomials in years ends like single fits") {
  std::mt19937 random(44);
  const PreparedModel cubic{std::string_view(power_series(4))};
  for (int k = 0; k < 20; ++k) {
    const Years years = years_with(std::pow(10.0, -6 - 6 * k / 19.0), 4, false, random);
    Matrix Y(1, years.y.size()), P0(1, 4, 1.0);
    for (std::size_t i = 0; i < years.y.size(); ++i) Y(0, i) = years.y[i];
    const BatchResult batch = curve_fit_batch(cubic, years.x, Y, P0);
    if (!is_success(batch.verdict[0])) continue;
    const Reference minimum(years.x, years.y, {}, 4);
    CHECK(minimum.distance(years.x, years.y, {batch.parameters.data(), 4}) <= 0.1);
  }
}

TEST_CASE("data that follow a polynomial in years to their last digits are a success") {
  std::mt19937 random(45);
  for (int k = 0; k < 40; ++k) {
    const std::size_t n = 4 + static_cast<std::size_t>(k % 2);
    const FitResult fit = fit_of(years_with(0, n, k % 4 >= 2, random), n);
    CAPTURE(k);
    CAPTURE(fit.summary.message);
    CHECK(fit.success());
  }
}

TEST_CASE("one row of 1e12 with a parameter of its own does not make the others exact") {
  std::mt19937 random(49);
  for (int k = 0; k < 12; ++k) {
    const double noise = std::pow(10.0, -5 - 3 * k / 11.0);
    const Years years = years_with(noise, 5, false, random);
    Years more = years;
    more.x.push_back(2030);
    more.y.push_back(1e12);
    const FitResult fit = curve_fit(PreparedModel{std::string_view(power_series(5) + "+d*(x>2027)")}, more.x,
                                    more.y, NamedValues(), FitOptions());
    CAPTURE(noise);
    CAPTURE(fit.summary.message);
    if (!fit.success()) continue;
    const Reference minimum(years.x, years.y, {}, 5);
    CHECK(minimum.distance(years.x, years.y, {fit.parameters.data(), 5}) <= 0.1);
  }
}

TEST_CASE("a function of residuals of a polynomial in years is at its minimum, or is no success") {
  std::mt19937 random(46);
  for (int k = 0; k < 40; ++k) {
    const double noise = k % 4 == 3 ? 0 : std::pow(10.0, -6 - 6 * k / 39.0);
    const Years years = years_with(noise, 4, false, random);
    const auto residuals = [&](const auto& p) {
      using T = std::decay_t<decltype(p[0])>;
      std::vector<T> r;
      for (std::size_t i = 0; i < years.x.size(); ++i)
        r.push_back(p[0] + years.x[i] * (p[1] + years.x[i] * (p[2] + years.x[i] * p[3])) - years.y[i]);
      return r;
    };
    const LeastSquaresResult fit = least_squares(residuals, {0.0, 0.0, 0.0, 0.0});
    CAPTURE(noise);
    CAPTURE(fit.summary.message);
    if (noise == 0) CHECK(fit.success());
    if (noise == 0 || !fit.success()) continue;
    CHECK(Reference(years.x, years.y, {}, 4).distance(years.x, years.y, fit.x) <= 0.1);
  }
}

TEST_CASE("a function of residuals that seems to lose rank where its terms cancel is no success") {
  std::mt19937 random(48);
  for (int k = 0; k < 20; ++k) {
    Years days = years_with(1e-6, 4, false, random);
    for (double& x : days.x) x += 2450000 - 1990;
    const auto residuals = [&](const auto& p) {
      using T = std::decay_t<decltype(p[0])>;
      std::vector<T> r;
      for (std::size_t i = 0; i < days.x.size(); ++i)
        r.push_back(p[0] + days.x[i] * (p[1] + days.x[i] * (p[2] + days.x[i] * p[3])) - days.y[i]);
      return r;
    };
    const LeastSquaresResult fit = least_squares(residuals, {0.0, 0.0, 0.0, 0.0});
    CAPTURE(fit.summary.message);
    CHECK_FALSE(fit.success());
  }
}

TEST_CASE("a function of residuals knows y from x and from weights") {
  std::mt19937 random(50);
  for (const double far : {0.0, 1e5 - kOrigin, 2.45e6 - kOrigin}) {
    for (const int form : {0, 1, 2, 3}) {
      int successes = 0;
      for (int k = 0; k < 30; ++k) {
        const double noise = k % 5 == 4 ? 0 : std::pow(10.0, -5 - 8 * k / 29.0);
        Years years = years_with(noise, k % 2 == 0 ? 3 : 4, form > 1, random);
        for (double& x : years.x) x += far;
        const auto residuals = [&](const auto& p) {
          using T = std::decay_t<decltype(p[0])>;
          std::vector<T> r;
          for (std::size_t i = 0; i < years.x.size(); ++i) {
            T value = p.back();
            for (std::size_t j = p.size() - 1; j-- > 0;) value = p[j] + years.x[i] * value;
            if (form == 0) r.push_back(value - years.y[i]);
            else if (form == 1) r.push_back(2 * (years.y[i] - value));
            else if (form == 2) r.push_back((years.y[i] - value) / years.sigma[i]);
            else r.push_back(value / years.sigma[i] - years.y[i] / years.sigma[i]);
          }
          return r;
        };
        const LeastSquaresResult fit = least_squares(residuals, Vector(k % 2 == 0 ? 3 : 4, 0.0));
        CAPTURE(far);
        CAPTURE(form);
        CAPTURE(noise);
        CAPTURE(fit.summary.message);
        successes += fit.success();
        if (noise == 0 && far == 0) CHECK(fit.success());
        if (noise == 0 || !fit.success()) continue;
        std::vector<double> y = years.y;
        if (form == 3) {  // the quotient is rounded, so the fit has another y
          for (std::size_t i = 0; i < y.size(); ++i) y[i] = y[i] / years.sigma[i] * years.sigma[i];
        }
        CHECK(Reference(years.x, y, years.sigma, fit.x.size(), kOrigin + far).distance(years.x, y, fit.x) <=
              0.1);
      }
      CHECK(successes >= 5);
    }
  }
}

TEST_CASE("a curve whose y is 0 everywhere is a function of residuals") {
  std::mt19937 random(51);
  for (int k = 0; k < 20; ++k) {
    const double noise = k % 4 == 3 ? 0 : std::pow(10.0, -6 - 6 * k / 19.0);
    const Years years = years_with(noise, 4, false, random);
    const std::vector<double> zeros(years.y.size(), 0.0);
    const PreparedModel residual{std::string_view("c0+c1*x1+c2*x1^2+c3*x1^3-x2"), 2};
    const FitResult fit = curve_fit(residual, Columns{years.x, years.y}, zeros, NamedValues(), FitOptions());
    CAPTURE(noise);
    CAPTURE(fit.summary.message);
    if (noise == 0) CHECK(fit.success());
    if (noise == 0 || !fit.success()) continue;
    CHECK(Reference(years.x, years.y, {}, 4).distance(years.x, years.y, fit.parameters) <= 0.1);
  }
}

TEST_CASE("the numbers that may be y are those that no parameter multiplies") {
  Graph graph;
  const NodeId x = graph.column(0), y = graph.column(1), w = graph.column(2), p = graph.parameter(0);
  const auto columns_of = [&](NodeId root) {
    std::vector<int> out;
    for (const auto& datum : TwofoldExpression(graph, root).responses()) out.push_back(datum.column);
    std::ranges::sort(out);
    return out;
  };
  const NodeId model = graph.mul(p, x), one = graph.constant(1);
  CHECK(columns_of(graph.mul(w, graph.sub(model, y))) == std::vector<int>{1});
  CHECK(columns_of(graph.sub(graph.mul(w, model), graph.mul(w, y))) == std::vector<int>{1});
  CHECK(columns_of(graph.sub(graph.add(model, one), y)) == std::vector<int>{1});
  CHECK(columns_of(graph.sub(one, model)) == std::vector<int>{-1});
  CHECK(columns_of(graph.make(Op::log, graph.mul(model, y))) == std::vector<int>{0, 1});
  CHECK(columns_of(graph.mul(p, p)).empty());
}

TEST_CASE("numbers of twice the digits") {
  const Twofold third = twofold_sum({1.0 / 3, 0}, {0x1p-54 / 3, 0});
  const Twofold square = twofold_product(third, third);
  CHECK(square.high == 1.0 / 9);
  const Twofold less = twofold_product({1 + 0x1p-52, 0}, {1 - 0x1p-52, 0});
  CHECK(less.high == 1);
  CHECK(less.low == -0x1p-104);
  CHECK(twofold_sum({1e30, 0}, twofold_sum({1, 0}, {-1e30, 0})).rounded() == 1);
}

TEST_CASE("the bound of a sine's error counts what rounding takes from a large argument") {
  Graph graph;
  const NodeId product = graph.make(Op::mul, graph.column(0), graph.column(1));
  TwofoldExpression cosine(graph, graph.make(Op::cos, product));
  const std::vector<double> factors = {1e14 / 3, 1.0 / 3};
  const double rest = 1e14 / 9 * 0x1p-64;  // long double loses at most this
  CHECK(cosine(factors, {}).error >= 1e-4 * rest * rest);
}

TEST_CASE("functions of twofold arguments") {
  // These are log(exp(ab)) - ab, sin² + cos² - 1 of a product, and a power minus its square. All are 0.
  Graph graph;
  const NodeId a = graph.column(0), b = graph.parameter(0), product = graph.mul(a, b);
  const NodeId sine = graph.make(Op::sin, product), cosine = graph.make(Op::cos, product);
  const NodeId squares = graph.add(graph.mul(sine, sine), graph.mul(cosine, cosine));
  const NodeId there_and_back = graph.make(Op::log, graph.make(Op::exp, product));
  const NodeId half = graph.make(Op::pow, a, b), whole = graph.make(Op::pow, a, graph.add(b, b));
  const NodeId zeros[] = {graph.sub(there_and_back, product), graph.sub(squares, graph.constant(1)),
                          graph.sub(graph.mul(half, half), whole)};
  for (const NodeId zero : zeros) {
    TwofoldExpression expression(graph, zero);
    REQUIRE(expression.usable());
    for (const double x : {0.1, 1.7, 23.3}) {
      const double column[] = {x}, parameter[] = {3.1};
      const TwofoldValue value = expression(column, parameter);
      CHECK(std::fabs(value.number.rounded()) <= value.error);
      CHECK(value.error <= 1e-17 * std::max(1.0, std::pow(x, 6.2)) * 30);
    }
  }
  TwofoldExpression bessel(graph, graph.make(Op::besj0, product));
  CHECK_FALSE(bessel.usable());
}

TEST_CASE("a function that is only called is refused rather than wrong") {
  std::mt19937 random(47);
  int refused = 0;
  for (int k = 0; k < 30; ++k) {
    const Years years = years_with(std::pow(10.0, -6 - 7 * k / 29.0), 4, false, random);
    const auto cubic = [](double x, std::span<const double> p) {
      return p[0] + x * (p[1] + x * (p[2] + x * p[3]));
    };
    const FitResult fit = curve_fit(cubic, years.x, years.y, {1.0, 1.0, 1.0, 1.0});
    CAPTURE(fit.summary.certificate.decrement_sigma);
    refused += !fit.success();
    if (fit.success())
      CHECK(Reference(years.x, years.y, {}, 4).distance(years.x, years.y, fit.parameters) <= 0.1);
  }
  CHECK(refused > 0);
}

TEST_CASE("a function of residuals that is only called is refused rather than wrong") {
  std::mt19937 random(52);
  for (const std::size_t n : {3U, 4U, 5U}) {
    int successes = 0;
    for (int k = 0; k < 20; ++k) {
      const double noise = std::pow(10.0, -5 - 8 * k / 19.0);
      Years years = years_with(noise, n, false, random);
      const double far = k % 2 == 0 ? 0 : 1e5 - kOrigin;
      for (double& x : years.x) x += far;
      const auto residuals = [&](const std::vector<double>& p) {
        std::vector<double> r;
        for (std::size_t i = 0; i < years.x.size(); ++i) {
          double value = p.back();
          for (std::size_t j = p.size() - 1; j-- > 0;) value = p[j] + years.x[i] * value;
          r.push_back(value - years.y[i]);
        }
        return r;
      };
      const LeastSquaresResult fit = least_squares(residuals, Vector(n, 0.0));
      CAPTURE(n);
      CAPTURE(noise);
      successes += fit.success();
      if (!fit.success()) continue;
      CHECK(Reference(years.x, years.y, {}, n, kOrigin + far).distance(years.x, years.y, fit.x) <= 0.1);
    }
    if (n == 3) CHECK(successes >= 3);
  }
}

TEST_CASE("whole numbers of last digits cancel together") {
  // The two columns are nearly alike, so a step across them needs many digits of both.
  const std::vector<double> B{1, 0, 1, 1e-3};
  const std::vector<double> z{0.3, -0.25};
  const std::vector<double> times = nearest_on_grid(B, 2, z);
  const double first = z[0] + B[0] * times[0] + B[2] * times[1], second = z[1] + B[3] * times[1];
  CHECK(std::hypot(first, second) <= 0.51);
  CHECK(std::fabs(second) <= 0.5);
  const std::vector<double> square = nearest_on_grid({2, 0, 0, 4}, 2, {7.1, -9.2});
  CHECK(square == std::vector<double>{-4, 2});
}
