// Tests formulas without starting values, for data in any units. Starts are then searched for in the data.
#include <nlsq/curve_fit.hpp>
#include <nlsq/groups.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <functional>
#include <numbers>
#include <random>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

struct Typed {
  std::string formula;
  std::function<double(double u)> curve;  // u is x as a fraction of its range
};

const std::vector<Typed> kTyped{
    {"a*exp(-(x-m)^2/(2*s^2))", [](double u) { return std::exp(-50 * std::pow(u - 0.5, 2)); }},
    {"a/(1+exp(-(x-m)/s))", [](double u) { return 1 / (1 + std::exp(-12 * (u - 0.5))); }},
    {"l/(1+exp(-k*(x-x0)))", [](double u) { return 1 / (1 + std::exp(-12 * (u - 0.5))); }},
    {"a*sin(2*pi*f*x+p)", [](double u) { return std::sin(2 * std::numbers::pi * 4.3 * u + 0.7); }},
    {"a*sin(w*x+p)+c", [](double u) { return std::sin(2 * std::numbers::pi * 4.3 * u + 0.7) + 0.4; }},
    {"a*cos(w*x)+b*sin(w*x)", [](double u) { return std::sin(2 * std::numbers::pi * 4.3 * u + 0.7); }},
    {"a*exp(-b*x)*cos(w*x+p)", [](double u) { return std::exp(-2 * u) * std::cos(27 * u + 0.7); }},
    {"a*exp(-b*x)+c*exp(-d*x)", [](double u) { return std::exp(-2 * u) + 0.8 * std::exp(-15 * u); }},
    {"a*(1-exp(-x/t))", [](double u) { return 1 - std::exp(-4 * u); }},
    {"a*exp(-(x/l)^k)", [](double u) { return std::exp(-std::pow(u / 0.4, 1.7)); }},
    {"a*tanh(b*x)", [](double u) { return std::tanh(2.5 * u); }},
    {"a*exp(b/x)", [](double u) { return std::exp(-0.3 / u); }},
    {"a*x^b*exp(-c*x)", [](double u) { return 8 * std::pow(u, 1.5) * std::exp(-6 * u); }},
    {"a*atan((x-m)/s)+c", [](double u) { return std::atan(10 * (u - 0.5)) + 0.2; }},
    {"a*erf((x-m)/s)+c", [](double u) { return std::erf(10 * (u - 0.5)) + 0.2; }},
};

struct Data {
  std::vector<double> x, y;
  double noise = 0;

  Data(const Typed& typed, double range, double size, std::size_t rows, std::mt19937& random) {
    std::normal_distribution<double> normal;
    noise = 0.01 * size;
    for (std::size_t i = 1; i <= rows; ++i) {
      const double u = static_cast<double>(i) / static_cast<double>(rows);
      x.push_back(u * range);
      y.push_back(size * typed.curve(u) + noise * normal(random));
    }
  }
};

}  // namespace

TEST_CASE("a formula typed without starting values is fitted whatever the units are") {
  std::mt19937 random(3);
  for (const Typed& typed : kTyped) {
    for (const double range : {1e-3, 1.0, 10.0, 5000.0}) {
      for (const double size : {1.0, 2e4, 3e-5}) {
        const Data data(typed, range, size, 60, random);
        const FitResult fit = curve_fit(typed.formula, data.x, data.y);
        CAPTURE(typed.formula);
        CAPTURE(range);
        CAPTURE(size);
        CHECK(fit.success());
        CHECK(2 * fit.summary.final_cost <= 1.7 * 60 * data.noise * data.noise);
      }
    }
  }
}

TEST_CASE("many rows are judged by some of them, and the same data give the same start") {
  std::mt19937 random(4);
  const Data data(kTyped[3], 5000, 1, 20000, random);
  const FitResult fit = curve_fit(kTyped[3].formula, data.x, data.y),
                  again = curve_fit(kTyped[3].formula, data.x, data.y);
  CHECK(fit.success());
  CHECK(2 * fit.summary.final_cost <= 1.1 * 20000 * data.noise * data.noise);
  CHECK(std::fabs(std::fabs(fit.parameters[1]) / (4.3 / 5000) - 1) < 0.01);
  CHECK(fit.guess == again.guess);
  CHECK(fit.parameters == again.parameters);
  CHECK(fit.guess != std::vector<double>(3, 1.0));
  const FitResult prepared =
      curve_fit(PreparedModel{std::string_view(kTyped[3].formula)}, data.x, data.y, NamedValues());
  CHECK(prepared.parameters == fit.parameters);
}

TEST_CASE("no wave is taken that is too fast for the rows") {
  std::mt19937 random(8);
  for (const double range : {1e-3, 10.0, 1000.0, 5000.0}) {
    for (int k = 0; k < 5; ++k) {
      const double waves = 3 + 2.1 * k;
      const Typed typed{"a*sin(w*x+p)+c",
                        [&](double u) { return std::sin(2 * std::numbers::pi * waves * u + k); }};
      const Data data(typed, range, 1, 60, random);
      CAPTURE(range);
      CAPTURE(waves);
      const FitResult fit = curve_fit(typed.formula, data.x, data.y);
      CHECK(fit.success());
      CHECK(std::fabs(std::fabs(fit.parameters[1]) * range / (2 * std::numbers::pi * waves) - 1) < 0.02);
    }
  }
}

TEST_CASE("a success is not given up, and y that does not vary needs no search") {
  std::vector<double> x, y, flat;
  for (int i = 0; i < 40; ++i) {
    x.push_back(i);
    y.push_back(2 + 3 * i);
    flat.push_back(5);
  }
  CHECK(curve_fit("a*sin(x/t+p)+c", x, flat).guess == std::vector<double>(4, 1.0));
  const FitResult redundant = curve_fit("a*b*x+c", x, y);  // no start determines a and b
  CHECK_FALSE(redundant.success());
}

TEST_CASE("starts of the caller's are kept, and so are limits") {
  std::mt19937 random(5);
  const Data data(kTyped[3], 5000, 1, 60, random);
  const std::string& wave = kTyped[3].formula;
  CHECK(curve_fit(wave, data.x, data.y, NamedValues{{"a", 1.0}, {"f", 1.0}, {"p", 1.0}}).guess ==
        std::vector<double>(3, 1.0));
  FitOptions short_of_time;
  short_of_time.max_seconds = 100;
  CHECK(curve_fit(wave, data.x, data.y, {}, short_of_time).guess == std::vector<double>(3, 1.0));
  FitOptions few_steps;
  few_steps.max_iterations = 5;
  CHECK(curve_fit(wave, data.x, data.y, {}, few_steps).guess == std::vector<double>(3, 1.0));
  FitOptions bounded;  // these exclude the best frequency, 4.3/5000
  bounded.bounds = Bounds({-HUGE_VAL, 1e-4, -10}, {HUGE_VAL, 6e-4, 10});
  const FitResult within = curve_fit(wave, data.x, data.y, {}, bounded);
  CHECK(within.parameters[1] >= 1e-4);
  CHECK(within.parameters[1] <= 6e-4);
  CHECK(within.guess[1] >= 1e-4);
  CHECK(within.guess[1] <= 6e-4);
  const FitResult given = curve_fit(wave, data.x, data.y, NamedValues{{"p", 0.5}});
  CHECK(given.success());
  CHECK(given.guess[2] == 0.5);
}

TEST_CASE("a fit that explains y from ones stays as it is") {
  std::mt19937 random(6);
  const Data data(kTyped[8], 5, 1, 60, random);  // a*(1-exp(-x/t))
  const FitResult fit = curve_fit(kTyped[8].formula, data.x, data.y);
  CHECK(fit.success());
  CHECK(fit.guess == std::vector<double>(2, 1.0));
}

TEST_CASE("formulas with weights and two predictors are fitted without starting values, too") {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::vector<double> t, z, y, sigma;
  for (int i = 0; i < 200; ++i) {
    t.push_back(20.0 * i);
    z.push_back(1e-3 * (1 + i % 7));
    sigma.push_back(i % 2 == 0 ? 0.01 : 0.05);
    y.push_back(3 * std::exp(-t.back() / 900) / (1 + z.back() / 2e-3) + sigma.back() * normal(random));
  }
  FitOptions options;
  options.sigma = sigma;
  options.absolute_sigma = true;
  const FitResult fit = curve_fit("a*exp(-x1/t)/(1+x2/k)", Columns{t, z}, y, {}, options);
  CHECK(fit.success());
  CHECK(2 * fit.summary.final_cost <= 1.4 * 200);
}

TEST_CASE("a left side that is the response alone does not count as a left side") {
  std::mt19937 random(11);
  const Data data(kTyped[4], 10, 1, 60, random);
  const FitResult plain = curve_fit("a*sin(w*x+p)+c", data.x, data.y),
                  equation = curve_fit("y = a*sin(w*x+p)+c", data.x, data.y);
  CHECK(plain.success());
  CHECK(plain.parameters == equation.parameters);
}

TEST_CASE("a formula that overflows near 1 is not taken for another model") {
  std::mt19937 random(12);
  std::normal_distribution<double> normal;
  for (const double origin : {5000.0, 1e5, 2.4e6}) {
    std::vector<double> x, y;
    for (int i = 0; i < 60; ++i) {
      x.push_back(origin + 60 * i);
      y.push_back(20 + 5 * std::exp(-0.1 * i) + 0.05 * normal(random));
    }
    const std::string formula = "a*exp(-(x-" + std::to_string(static_cast<int>(origin)) + ")/tau)+c";
    const FitResult fit = curve_fit(formula, x, y);
    CAPTURE(formula);
    CHECK(fit.success());
    CHECK(fit.parameters[1] == doctest::Approx(600).epsilon(0.1));
  }
}

TEST_CASE("formulas with powers of x/tau are fitted from a first row at 0") {
  std::mt19937 random(13);
  std::normal_distribution<double> normal;
  const auto fitted = [&](const std::string& formula, auto curve) {
    std::vector<double> x, y;
    for (int i = 0; i < 40; ++i) {
      x.push_back(0.5 * i);
      y.push_back(curve(x.back()) + 0.01 * normal(random));
    }
    const FitResult fit = curve_fit(formula, x, y);
    CAPTURE(formula);
    CAPTURE(fit.summary.message);
    CHECK(fit.success());
    CHECK(2 * fit.summary.final_cost <= 1.7 * 40 * 1e-4);
  };
  fitted("a*exp(-(x/tau)^b)", [](double x) { return 3 * std::exp(-std::pow(x / 4, 0.6)); });
  fitted("a*(1-exp(-(x/l)^k))", [](double x) { return 2 * (1 - std::exp(-std::pow(x / 4, 0.8))); });
  fitted("bottom+(top-bottom)/(1+(x/ic50)^h)", [](double x) { return 0.3 + 2 / (1 + std::pow(x / 3, 1.3)); });
  fitted("a/(1+(x/k)^h)", [](double x) { return 2 / (1 + std::pow(x / 3, 0.8)); });
}

TEST_CASE("a recorded function of named parameters starts as a formula does") {
  std::mt19937 random(17);
  const auto wave = [](const auto& x, const auto* p) { return p[0] * sin(p[1] * x + p[2]) + p[3]; };
  const Data data(kTyped[4], 10, 1, 60, random);
  const PreparedModel recorded(make_model_function(wave), Columns(data.x), {1, 1, 1, 1},
                               {"a", "w", "p", "c"});
  const FitResult fit = curve_fit(recorded, data.x, data.y, NamedValues()),
                  typed = curve_fit("a*sin(w*x+p)+c", data.x, data.y);
  CHECK(fit.success());
  CHECK(2 * fit.summary.final_cost <= 1.7 * 60 * data.noise * data.noise);
  CHECK(fit.summary.final_cost == doctest::Approx(typed.summary.final_cost));
  CHECK(curve_fit(recorded, data.x, data.y, std::vector<double>(4, 1.0)).guess ==
        std::vector<double>(4, 1.0));
  // Functions with a branch that no row entered have no steps to search in; they start at 1.
  const auto branch = [](const auto& x, const auto* p) {
    if (x > 1e6) return exp(p[0] * x);
    return p[0] * sin(p[1] * x + p[2]) + p[3];
  };
  const PreparedModel branched(make_model_function(branch), Columns(data.x), {1, 1, 1, 1});
  CHECK(curve_fit(branched, data.x, data.y, NamedValues()).guess == std::vector<double>(4, 1.0));
}

TEST_CASE("groups of a recorded function without starts begin where one of them was found") {
  std::mt19937 random(18);
  const auto wave = [](const auto& x, const auto* p) { return p[0] * sin(p[1] * x + p[2]) + p[3]; };
  std::vector<double> x, y, group;
  for (int g = 0; g < 3; ++g) {
    const Data data(kTyped[4], 10, 1, 60, random);
    x.insert(x.end(), data.x.begin(), data.x.end());
    y.insert(y.end(), data.y.begin(), data.y.end());
    group.insert(group.end(), data.x.size(), g);
  }
  const PreparedModel recorded(make_model_function(wave), Columns(x), {1, 1, 1, 1}, {"a", "w", "p", "c"});
  CHECK(curve_fit_groups(recorded, x, y, group).success());
}

TEST_CASE("A poor fit with errors in x is judged by y with the variances of this fit") {
  std::vector<double> x, y;
  for (int i = 0; i < 60; ++i) {
    x.push_back(10.0 * i / 59);
    y.push_back(2 * std::sin(2.85 * x.back() + 1) + 5 + 0.1 * std::sin(37.0 * i));
  }
  const std::vector<double> sigma(60, 0.1), sigma_x(60, 0.15);
  FitOptions o;
  o.sigma = sigma;
  o.sigma_x = {sigma_x};
  // The steep curve at w = -8.6 has a small cost, since its rows have large variances, but R² is -1.2.
  const FitResult fit = curve_fit("a*sin(w*x+p)+c+d*x*x", x, y, {}, o);
  CHECK(fit.success());
  CHECK(std::fabs(fit.parameters[1]) == doctest::Approx(2.85).epsilon(0.01));
  CHECK(fit.r_squared > 0.99);
}
