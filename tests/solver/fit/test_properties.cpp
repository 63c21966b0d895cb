// Tests properties that must hold between two fits of any data, by thousands of seeded random problems.
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "trials.hpp"

using namespace nlsq;

namespace {

struct RandomFit {
  std::string formula;
  NamedValues start;
  std::vector<double> x, y;
};

struct Kind {
  const char* formula;  // the last parameter is an additive constant
  std::vector<TrialRange> truth;
  double low, high;  // range of x
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"a*x+c", {{-5, 5}, {-5, 5}}, 0, 10},
      {"a*exp(-b*x)+c", {{1, 10}, {0.2, 2}, {-2, 2}}, 0, 5},
      {"a/(1+b*x)+c", {{1, 10}, {0.3, 3}, {-2, 2}}, 0, 5},
      {"a*exp(-(x-b)^2/(2*d^2))+c", {{2, 10}, {3, 7}, {0.7, 1.5}, {-2, 2}}, 0, 10},
      {"a/(1+exp(-b*(x-d)))+c", {{2, 10}, {1, 3}, {3, 7}, {-2, 2}}, 0, 10},
      {"a*sin(b*x+d)+c", {{1, 5}, {0.8, 1.2}, {-1, 1}, {-2, 2}}, 0, 10},
  };
  return all;
}

// Returns a random problem of these kinds. It starts within a few per cent of the truth, with noise of two
// per cent.
RandomFit draw(trials::Random& random) {
  const Kind& kind =
      kinds()[static_cast<std::size_t>(random.uniform() * static_cast<double>(kinds().size()))];
  const Formula formula = parse_formula(kind.formula);
  RandomFit p{kind.formula, {}, {}, {}};
  // Ranges are listed as the parameters appear: a, b, (d,) c. Formulas name them in that order, too.
  std::vector<double> truth;
  for (const TrialRange& range : kind.truth) truth.push_back(random.in(range));
  for (std::size_t j = 0; j < truth.size(); ++j)
    p.start.emplace_back(formula.parameters[j], truth[j] * (1 + 0.1 * (random.uniform() - 0.5)));
  const int m = 20 + static_cast<int>(random.uniform() * 60);
  for (int i = 0; i < m; ++i) {
    p.x.push_back(kind.low + (kind.high - kind.low) * random.uniform());
    p.y.push_back(formula.evaluate({&p.x.back(), 1}, truth));
  }
  const auto [least, most] = std::minmax_element(p.y.begin(), p.y.end());
  const double noise = 0.02 * (*most - *least);
  for (double& y : p.y) y += noise * random.normal();
  return p;
}

FitResult fit(const RandomFit& p, const FitOptions& options = {}) {
  return curve_fit(p.formula, p.x, p.y, p.start, options);
}

// Returns the largest difference of two fits' parameters, in standard errors of the first.
double distance(const FitResult& a, const FitResult& b) {
  double largest = 0;
  for (std::size_t j = 0; j < a.parameters.size(); ++j) {
    largest = std::max(largest, std::fabs(a.parameters[j] - b.parameters[j]) / a.standard_errors[j]);
  }
  return largest;
}

// Calls `check` with `count` random problems and their fits. Nearly all must be certified.
template <class Check>
void for_problems(std::uint64_t seed, int count, Check check) {
  trials::Random random(seed);
  int certified = 0;
  for (int k = 0; k < count; ++k) {
    const RandomFit p = draw(random);
    CAPTURE(seed);
    CAPTURE(k);
    CAPTURE(p.formula);
    const FitResult one = fit(p);
    if (!one.success()) continue;
    ++certified;
    check(p, one, random);
  }
  CHECK(certified >= count * 99 / 100);
}

constexpr double same = 1e-7;  // standard errors, for rounding and for where an iteration stops

}  // namespace

TEST_CASE("the order of rows does not matter") {
  for_problems(1, 1500, [](const RandomFit& p, const FitResult& one, trials::Random& random) {
    RandomFit shuffled = p;
    for (std::size_t i = p.x.size(); i > 1; --i) {
      const auto j = static_cast<std::size_t>(random.uniform() * static_cast<double>(i));
      std::swap(shuffled.x[i - 1], shuffled.x[j]);
      std::swap(shuffled.y[i - 1], shuffled.y[j]);
    }
    const FitResult two = fit(shuffled);
    CHECK(distance(one, two) < same);
    CHECK(two.rss == doctest::Approx(one.rss).epsilon(1e-11));
  });
}

TEST_CASE("data taken twice give the same parameters, and errors smaller by sqrt((m-n)/(2m-n))") {
  for_problems(2, 1500, [](const RandomFit& p, const FitResult& one, trials::Random&) {
    RandomFit twice = p;
    twice.x.insert(twice.x.end(), p.x.begin(), p.x.end());
    twice.y.insert(twice.y.end(), p.y.begin(), p.y.end());
    const FitResult two = fit(twice);
    CHECK(distance(one, two) < same);
    CHECK(two.rss == doctest::Approx(2 * one.rss).epsilon(1e-11));
    const double m = static_cast<double>(p.x.size()), n = static_cast<double>(one.parameters.size());
    for (std::size_t j = 0; j < one.parameters.size(); ++j) {
      CHECK(two.standard_errors[j] ==
            doctest::Approx(one.standard_errors[j] * std::sqrt((m - n) / (2 * m - n))).epsilon(1e-6));
    }
  });
}

TEST_CASE("weights of one half are the same as rows left out and taken twice") {
  for_problems(3, 700, [](const RandomFit& p, const FitResult& one, trials::Random& random) {
    // Each row becomes two rows with √2 times its standard deviation.
    RandomFit split = p;
    split.x.insert(split.x.end(), p.x.begin(), p.x.end());
    split.y.insert(split.y.end(), p.y.begin(), p.y.end());
    const double sigma = random.in({0.1, 10});
    const std::vector<double> wide(split.x.size(), sigma * std::sqrt(2.0));
    FitOptions options;
    options.sigma = wide;
    const FitResult two = fit(split, options);
    CHECK(distance(one, two) < same);
    CHECK(two.rss * sigma * sigma == doctest::Approx(one.rss).epsilon(1e-10));
    CHECK(two.r_squared == doctest::Approx(one.r_squared).epsilon(1e-10));
  });
}

TEST_CASE("a constant added to y is added to the constant of the model, and to nothing else") {
  for_problems(4, 1500, [](const RandomFit& p, const FitResult& one, trials::Random& random) {
    const double shift = random.in({-20, 20});
    RandomFit moved = p;
    for (double& y : moved.y) y += shift;
    moved.start.back().second += shift;
    const FitResult two = fit(moved);
    FitResult back = two;
    back.parameters.back() -= shift;
    CHECK(distance(one, back) < same);
    CHECK(two.rss == doctest::Approx(one.rss).epsilon(1e-9));
    for (std::size_t j = 0; j < one.parameters.size(); ++j) {
      CHECK(two.standard_errors[j] == doctest::Approx(one.standard_errors[j]).epsilon(1e-6));
    }
  });
}

TEST_CASE("y in units smaller or larger by a power of two: the same bits in other units") {
  for_problems(5, 1500, [](const RandomFit& p, const FitResult& one, trials::Random& random) {
    const int power = static_cast<int>(random.uniform() * 80) - 40;
    // The linear parameters a and c carry the units of y; b and d do not.
    RandomFit scaled = p;
    for (double& y : scaled.y) y = std::ldexp(y, power);
    const auto carries = [](const std::string& name) { return name == "a" || name == "c"; };
    for (auto& [name, value] : scaled.start) {
      if (carries(name)) value = std::ldexp(value, power);
    }
    const FitResult two = fit(scaled);
    for (std::size_t j = 0; j < one.parameters.size(); ++j) {
      const int unit = carries(one.parameter_names[j]) ? power : 0;
      CHECK(std::ldexp(one.parameters[j], unit) == two.parameters[j]);
      CHECK(std::ldexp(one.standard_errors[j], unit) == two.standard_errors[j]);
    }
    CHECK(std::ldexp(one.rss, 2 * power) == two.rss);
    CHECK(one.summary.iterations.size() == two.summary.iterations.size());
  });
}

TEST_CASE("parameters in another order are the same parameters") {
  for_problems(6, 1000, [](const RandomFit& p, const FitResult& one, trials::Random&) {
    // With "c + 0 ..." first, the formula names c before the others.
    RandomFit turned = p;
    turned.formula = "c+" + p.formula.substr(0, p.formula.size() - 2);
    const FitResult two = fit(turned);
    REQUIRE(two.parameter_names.front() == "c");
    FitResult back = two;
    std::rotate(back.parameters.begin(), back.parameters.begin() + 1, back.parameters.end());
    CHECK(distance(one, back) < same);
    CHECK(two.correlation(0, 1) ==
          doctest::Approx(one.correlation(one.parameters.size() - 1, 0)).epsilon(1e-5));
  });
}

TEST_CASE("a fit started at its solution stays there") {
  for_problems(7, 1500, [](const RandomFit& p, const FitResult& one, trials::Random&) {
    RandomFit again = p;
    for (std::size_t j = 0; j < one.parameters.size(); ++j) again.start[j].second = one.parameters[j];
    const FitResult two = fit(again);
    CHECK(two.success());
    for (std::size_t j = 0; j < one.parameters.size(); ++j) {
      CHECK(std::fabs(two.parameters[j] - one.parameters[j]) <=
            1e-10 * std::fabs(one.parameters[j]) + 1e-9 * one.standard_errors[j]);
    }
    CHECK(two.rss <= one.rss * (1 + 1e-13));
    CHECK(two.summary.iterations.size() <= 2);
  });
}

TEST_CASE("the same call gives the same bits, and f32 first gives the same fit") {
  for_problems(8, 700, [](const RandomFit& p, const FitResult& one, trials::Random&) {
    const FitResult again = fit(p);
    CHECK(one.parameters == again.parameters);
    CHECK(one.covariance == again.covariance);
    FitOptions options;
    options.precision = PrecisionPolicy::parse("f32");
    const FitResult low = fit(p, options);
    CHECK(low.success());
    CHECK(low.summary.precision.counters.rows_f32 > 0);
    CHECK(distance(one, low) < same);
  });
}

TEST_CASE("a fixed parameter at its fitted value leaves the others where they are") {
  for_problems(9, 700, [](const RandomFit& p, const FitResult& one, trials::Random& random) {
    const auto j = static_cast<std::size_t>(random.uniform() * static_cast<double>(one.parameters.size()));
    RandomFit held = p;
    held.start[j].second = one.parameters[j];
    FitOptions options;
    options.fixed = {one.parameter_names[j]};
    const FitResult two = fit(held, options);
    CHECK(distance(one, two) < 1e-4);  // the fixed value is not the optimum to the last digit
    CHECK(two.rss == doctest::Approx(one.rss).epsilon(1e-9));
    for (std::size_t k = 0; k < one.parameters.size(); ++k) {
      const double n = static_cast<double>(one.parameters.size()), m = static_cast<double>(p.x.size());
      CHECK(two.standard_errors[k] <= one.standard_errors[k] * std::sqrt((m - n) / (m - n + 1)) * (1 + 1e-5));
    }
  });
}
