// Tests minima that float64 cannot represent: polynomials in an x far from 0, such as Julian dates and years,
// whose powers cancel, and rows whose sigma is so small that their rounding errors hide all others. No fit
// may claim such a minimum, in whatever way it was made.
#include <nlsq/curve_fit_batch.hpp>
#include <nlsq/groups.hpp>
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

using namespace nlsq;

namespace {

constexpr int kRows = 61;

struct Data {
  std::vector<double> x, y;
};

// Returns a wave of height 100 with noise of 0.05, around x = `middle`.
Data wave_at(double middle) {
  Data data;
  for (int i = 0; i < kRows; ++i) {
    const double u = -15 + 0.5 * i;
    data.x.push_back(middle + u);
    data.y.push_back(100 * std::sin(u / 6) + 0.05 * std::sin(1.7 * i * i));
  }
  return data;
}

std::string polynomial(int degree) {
  std::string text = "c0";
  for (int k = 1; k <= degree; ++k) text += "+c" + std::to_string(k) + "*x^" + std::to_string(k);
  return text;
}

}  // namespace

TEST_CASE("a certified polynomial is within a few tenths of a standard error of the minimum, wherever x is") {
  int certified = 0, refused = 0;
  for (int degree = 1; degree <= 7; ++degree) {
    const PreparedModel model{std::string_view(polynomial(degree))};
    const Data centred = wave_at(0);
    const double least = curve_fit(model, centred.x, centred.y, NamedValues()).rss;
    for (const double middle : {100.0, 2005.0, 6e4, 7.38e5, 2450015.0, 1.7e9}) {
      const Data data = wave_at(middle);
      const FitResult fit = curve_fit(model, data.x, data.y, NamedValues());
      if (!fit.success()) {
        ++refused;
        continue;
      }
      ++certified;
      CAPTURE(degree);
      CAPTURE(middle);
      CHECK(fit.rss - least <= 0.1 * least / (kRows - degree - 1));  // this is 0.3 standard errors
    }
  }
  CHECK(certified >= 15);
  CHECK(refused >= 10);
}

TEST_CASE("a fit that cancellation hides says so, and where x should begin") {
  const Data data = wave_at(2450015);
  const PreparedModel cubic{std::string_view(polynomial(3))};
  const FitResult fit = curve_fit(cubic, data.x, data.y, NamedValues());
  CHECK(fit.summary.verdict == Verdict::budget);
  CHECK_FALSE(fit.summary.certificate.passed);
  CHECK(fit.summary.message.find("cancel") != std::string::npos);
  REQUIRE_FALSE(fit.warnings.empty());
  CHECK(fit.warnings.back() == "x is far from 0 beside its range: fit x - 2450015 in its place");
}

TEST_CASE("batches and groups do not claim such fits either") {
  const Data data = wave_at(2450015);
  const PreparedModel cubic{std::string_view(polynomial(3))};
  Matrix Y(3, kRows), P0(1, 4, 1.0);
  for (std::size_t f = 0; f < 3; ++f) {
    for (std::size_t i = 0; i < kRows; ++i) Y(f, i) = static_cast<double>(f + 1) * data.y[i];
  }
  const BatchResult batch = curve_fit_batch(cubic, data.x, Y, P0);
  CHECK(batch.certified == 0);
  for (const Verdict verdict : batch.verdict) CHECK_FALSE(is_success(verdict));
  Data twice = data;
  std::vector<double> group(2 * kRows, 1.0);
  for (std::size_t i = 0; i < kRows; ++i) {
    twice.x.push_back(data.x[i]), twice.y.push_back(2 * data.y[i]);
    group[i] = 0;
  }
  const GroupsResult groups = curve_fit_groups(cubic, Columns(twice.x), twice.y, group, NamedValues(), {});
  CHECK(groups.succeeded == 0);
}

TEST_CASE("terms that cancel are no obstacle where y follows the model to its last digits") {
  Data data;
  for (int i = 0; i < kRows; ++i) {
    data.x.push_back(1e6 + i);
    data.y.push_back(3 + 2 * data.x.back());
  }
  const PreparedModel line{std::string_view("c0+c1*x")};
  CHECK(curve_fit(line, data.x, data.y, NamedValues()).success());
}

TEST_CASE("one row of 1e12 does not stand for the others") {
  // On V*x/(K+x) the pole can be put beside the row, so that float64 has few values of K there. R² is then
  // 1 - 1e-16, and the distance to the minimum several standard errors.
  std::mt19937 random(5);
  const auto uniform = [&](double from, double to) {
    return from + (to - from) * static_cast<double>(random()) / 0x1p32;
  };
  for (int k = 0; k < 40; ++k) {
    std::vector<double> x, y;
    for (int i = 0; i < 12; ++i) {
      x.push_back(0.1 + 0.3 * i);
      y.push_back(2 * x.back() / (0.8 + x.back()) + uniform(-0.03, 0.03));
    }
    y[7] = std::pow(10.0, uniform(8, 13));
    const double beside = -x[7] * (1 + uniform(-1e-6, 1e-6));
    const FitResult fit = curve_fit("V*x/(K+x)", x, y, {{"V", uniform(0.5, 5)}, {"K", beside}});
    CAPTURE(k);
    CAPTURE(fit.summary.message);
    if (fit.success()) CHECK(fit.summary.certificate.decrement_sigma < 0.1);
    const PreparedModel model("V*x/(K+x)");
    Matrix Y(1, y.size()), P0(1, 2);
    for (std::size_t i = 0; i < y.size(); ++i) Y(0, i) = y[i];
    const auto place = [&](const char* name) {
      return static_cast<std::size_t>(std::ranges::find(fit.parameter_names, name) -
                                      fit.parameter_names.begin());
    };
    P0(0, place("V")) = 1;
    P0(0, place("K")) = beside;
    const FitResult single = curve_fit(model, x, y, {{"V", 1}, {"K", beside}});
    CHECK(is_success(curve_fit_batch(model, x, Y, P0).verdict[0]) == single.success());
  }
}

TEST_CASE("a left side that is followed to its last digits is compared with itself, not with a tiny y") {
  const PreparedModel model{parse_formula("log(y) = log(a) - b*x")};
  for (const double scale : {1e-6, 1e-9, 1e-12, 1e-15}) {
    for (int k = 0; k < 6; ++k) {
      std::vector<double> x, y;
      for (int i = 0; i < 20 + k; ++i) {
        x.push_back(0.1 + 4.9 * i / (19 + k));
        y.push_back(scale * std::exp(-(0.3 + 0.25 * k) * x.back()));
      }
      CAPTURE(scale);
      CAPTURE(k);
      CHECK(curve_fit(model, x, y, {{"a", 1e-3}, {"b", 1}}).success());
    }
  }
}

TEST_CASE("rows of next to no sigma do not stand for the others") {
  // Two rows with a sigma of 1e-6 of the others' make the curve pass through these two points. A smaller
  // sigma does not change the answer, but the rounding errors of the two rows then weigh more than all other
  // residuals.
  std::mt19937 random(11);
  const auto uniform = [&](double from, double to) {
    return from + (to - from) * static_cast<double>(random()) / 0x1p32;
  };
  const PreparedModel model{std::string_view("a*exp(-(x/t)^b)")};
  const NamedValues start{{"a", 1.5}, {"t", 3.5}, {"b", 1.8}};
  int certified = 0, refused = 0;
  for (int k = 0; k < 60; ++k) {
    std::vector<double> x, y;
    for (int i = 0; i < 9; ++i) {
      x.push_back(1 + 0.5 * i + uniform(0, 0.4));
      y.push_back(1.4 * std::exp(-std::pow(x.back() / 3, 1.5)) + (i % 4 == 2 ? 0 : 1e-3 * uniform(-1, 1)));
    }
    FitOptions options;
    std::vector<double> sigma(x.size(), 1e-3);
    options.sigma = sigma;
    FitResult right = curve_fit(model, x, y, start, options);
    for (double exact = 1e-4; exact >= 1e-9; exact /= 10) {
      sigma[2] = sigma[6] = exact;
      const std::vector<double>& p = right.parameters;
      right = curve_fit(model, x, y, {{"a", p[0]}, {"t", p[1]}, {"b", p[2]}}, options);
      REQUIRE(right.success());
    }
    sigma[2] = sigma[6] = std::pow(10, uniform(-22, -16));
    const FitResult fit = curve_fit(model, x, y, start, options);
    Matrix Y(1, y.size()), P0(1, 3);
    std::ranges::copy(y, Y.data());
    for (std::size_t j = 0; j < 3; ++j) P0(0, j) = start[j].second;
    BatchOptions of_batch;
    of_batch.sigma = sigma;
    const BatchResult batch = curve_fit_batch(model, x, Y, P0, of_batch);
    CAPTURE(k);
    CHECK(is_success(batch.verdict[0]) == fit.success());
    (fit.success() ? certified : refused) += 1;
    for (std::size_t j = 0; j < 3 && fit.success(); ++j)
      CHECK(std::fabs(fit.parameters[j] - right.parameters[j]) <= 0.1 * right.standard_errors[j]);
  }
  CHECK(refused > 0);
}

TEST_CASE("sigma of all sizes are no obstacle where y follows the model to its last digits") {
  std::vector<double> x, y, sigma;
  for (int i = 0; i < 20; ++i) {
    x.push_back(0.2 * i);
    y.push_back(2 * std::exp(-0.7 * x.back()) + 1);
    sigma.push_back(std::pow(10, -(i % 5) * 4));
  }
  FitOptions options;
  options.sigma = sigma;
  CHECK(curve_fit("a*exp(-b*x)+c", x, y, {{"b", 1}}, options).success());
}

namespace {

// Returns residuals w_i (a exp(-(x_i/t)^b) - y_i) as a function of (a, t, b).
auto weighted_decay(const std::vector<double>& x, const std::vector<double>& y,
                    const std::vector<double>& weight) {
  return [&x, &y, &weight](const auto& p) {
    using T = std::decay_t<decltype(p[0])>;
    using std::exp, std::pow;
    std::vector<T> r;
    for (std::size_t i = 0; i < x.size(); ++i)
      r.push_back(weight[i] * (p[0] * exp(-pow(x[i] / p[1], p[2])) - y[i]));
    return r;
  };
}

}  // namespace

TEST_CASE("rows of huge weight in a function of residuals do not stand for the others") {
  std::mt19937 random(11);
  const auto uniform = [&](double from, double to) {
    return from + (to - from) * static_cast<double>(random()) / 0x1p32;
  };
  int certified = 0, refused = 0;
  for (int k = 0; k < 40; ++k) {
    std::vector<double> x, y;
    for (int i = 0; i < 9; ++i) {
      x.push_back(1 + 0.5 * i + uniform(0, 0.4));
      y.push_back(1.4 * std::exp(-std::pow(x.back() / 3, 1.5)) + (i % 4 == 2 ? 0 : 1e-3 * uniform(-1, 1)));
    }
    std::vector<double> weight(x.size(), 1.0), start{1.5, 3.5, 1.8};
    const auto residuals = weighted_decay(x, y, weight);
    LeastSquaresResult right = least_squares(residuals, start);
    for (double heavy = 1e1; heavy <= 1e6; heavy *= 10) {
      weight[2] = weight[6] = heavy;
      right = least_squares(residuals, right.x);
      REQUIRE(right.success());
    }
    weight[2] = weight[6] = std::pow(10, uniform(12, 19));
    CAPTURE(k);
    LeastSquaresOptions options;
    options.starts = 1 + k % 2;
    for (const LeastSquaresResult& fit :
         {least_squares(residuals, start, options),
          least_squares(VectorFunction{.value = [&](std::span<const double> p) { return residuals(p); }},
                        start, options)}) {
      CAPTURE(fit.summary.message);
      (fit.success() ? certified : refused) += 1;
      for (std::size_t j = 0; j < 3 && fit.success(); ++j)
        CHECK(std::fabs(fit.x[j] - right.x[j]) <= 0.1 * right.standard_errors[j]);
    }
  }
  CHECK(refused > 0);
}

TEST_CASE("weights of all sizes are no obstacle where the residuals vanish to their last digits") {
  std::vector<double> x, y, weight;
  for (int i = 0; i < 20; ++i) {
    x.push_back(0.2 * (i + 1));
    y.push_back(1.4 * std::exp(-std::pow(x.back() / 3, 1.5)));
    weight.push_back(std::pow(10, (i % 5) * 4));
  }
  CHECK(least_squares(weighted_decay(x, y, weight), {1.5, 3.5, 1.8}).success());
}

TEST_CASE("tails of a peak without noise are no light rows that a heavy peak hides") {
  // Far from the peak, rows are as small as 1e-300. There the data are 0, or have the rounding errors of an
  // offset that was subtracted.
  for (const double off : {0.0, 1.0}) {
    for (const double width : {0.1, 0.3, 1.0}) {
      std::vector<double> x, y;
      for (int i = 0; i < 200; ++i) {
        x.push_back(-5 + 0.05 * i);
        const double z = (x.back() - 0.4) / width;
        y.push_back((2 * std::exp(-z * z / 2) + off) - off);
      }
      const auto residuals = [&](const auto& p) {
        using T = std::decay_t<decltype(p[0])>;
        using std::exp;
        std::vector<T> r;
        for (std::size_t i = 0; i < x.size(); ++i) {
          const T z = (x[i] - p[1]) / p[2];
          r.push_back(p[0] * exp(-z * z / 2.0) - y[i]);
        }
        return r;
      };
      CAPTURE(off);
      CAPTURE(width);
      const LeastSquaresResult fit = least_squares(residuals, {1.5, 0.45, 1.2 * width});
      CAPTURE(fit.summary.message);
      CHECK(fit.success());
    }
  }
}

TEST_CASE("a function of residuals that is only called, without noise") {
  const auto fit_of_called = [](auto residuals, const std::vector<double>& start) {
    return least_squares([=](const std::vector<double>& p) { return residuals(p); }, start);
  };
  const auto cubic = [](const std::vector<double>& p) {
    std::vector<double> r;
    for (double x = 0; x < 4; x += 0.1)
      r.push_back(p[0] + x * (p[1] + x * (p[2] + x * p[3])) - (2 + x * (0.3 - x * (0.7 + x * 0.1))));
    return r;
  };
  CHECK(fit_of_called(cubic, {1, 1, 1, 1}).success());
  const auto powell = [](const std::vector<double>& p) {  // its minimum is at 0
    return std::vector<double>{p[0] + 10 * p[1], std::sqrt(5) * (p[2] - p[3]), std::pow(p[1] - 2 * p[2], 2),
                               std::sqrt(10) * std::pow(p[0] - p[3], 2)};
  };
  CHECK(fit_of_called(powell, {3, -1, 0, 1}).success());
  // No float64 numbers solve these equations exactly. Only the largest row gives information.
  const auto square = [](const std::vector<double>& p) { return std::vector<double>{p[0] * p[0] - 2}; };
  CHECK(fit_of_called(square, {1}).success());
  const auto beside_zero = [](const std::vector<double>& p) {
    return std::vector<double>{p[0] * p[0] - 2, p[1], 3 * p[1]};
  };
  CHECK(fit_of_called(beside_zero, {1, 1}).success());
}

TEST_CASE("a polynomial through as many points as it has parameters is exact, although its terms cancel") {
  const auto refused = [](int degree, double (*number)(std::mt19937&)) {
    const auto n = static_cast<std::size_t>(degree) + 1;
    const PreparedModel model{std::string_view(polynomial(degree))};
    std::mt19937 random(7);
    std::vector<std::vector<double>> xs, ys;
    int out = 0;
    for (int k = 0; k < 300; ++k) {
      std::vector<double> x, y;
      while (x.size() < n) {
        const double value = number(random);
        if (std::ranges::count(x, value) == 0) x.push_back(value), y.push_back(number(random));
      }
      const FitResult fit = curve_fit(model, x, y, NamedValues());
      out += fit.success() ? 0 : 1;
      const auto residuals = [=](const std::vector<double>& p) {
        std::vector<double> r(n);
        for (std::size_t i = 0; i < n; ++i) {
          for (std::size_t j = n; j-- > 0;) r[i] = r[i] * x[i] + p[j];
          r[i] -= y[i];
        }
        return r;
      };
      out += least_squares(residuals, std::vector<double>(n, 1.0)).success() ? 0 : 1;
      xs.push_back(x), ys.push_back(y);
    }
    std::vector<Column> columns_of_x(xs.begin(), xs.end()), columns_of_y(ys.begin(), ys.end());
    const BatchResult batch =
        curve_fit_batch(model, ColumnPerFit(columns_of_x), ColumnPerFit(columns_of_y), Matrix(1, n, 1.0));
    CHECK(batch.certified == 300);
    return out;
  };
  const auto decimal = [](std::mt19937& random) {
    return std::uniform_int_distribution<int>(-99, 99)(random) / 10.0;
  };
  const auto normal = [](std::mt19937& random) { return std::normal_distribution<double>()(random); };
  for (int degree = 1; degree <= 3; ++degree) {
    CHECK(refused(degree, decimal) == 0);
    CHECK(refused(degree, normal) == 0);
  }
  // The row of the origin has no term but the offset, which is 0.
  CHECK(curve_fit(PreparedModel("a+b*x+c*x^2+d*x^3"), std::vector{2.3, 6.7, 0.0, -7.0},
                  std::vector{3.4, 4.1, 0.0, -5.0}, NamedValues())
            .success());
  // The same in seconds since 1970: the curve misses the points by more than half of their digits.
  CHECK_FALSE(
      curve_fit("a+b*x", std::vector{1.7e9, 1.7e9 + 1e-4}, std::vector{0.1, 0.2}, NamedValues()).success());
}
