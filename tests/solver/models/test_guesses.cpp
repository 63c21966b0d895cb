// Tests first guesses: how often a fit from the guess reaches the best minimum known, and how guesses treat
// useless data.
#include <doctest/doctest.h>

#include <nlsq/curve_fit.hpp>
#include <nlsq/models.hpp>

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <ctime>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "trials.hpp"

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

double fitted_cost(const nlsq::Model& model, const trials::Data& data, const std::vector<double>& start) {
  nlsq::NamedValues p0;
  for (std::size_t j = 0; j < start.size(); ++j) p0.emplace_back(model.parameters[j], start[j]);
  std::vector<nlsq::Column> columns(data.x.begin(), data.x.end());
  nlsq::FitOptions options;
  options.max_iterations = 200;
  const nlsq::FitResult fit = nlsq::curve_fit(model, nlsq::Columns(columns), data.y, p0, options);
  return std::isfinite(fit.summary.final_cost) ? fit.summary.final_cost : kInf;
}

// Returns true if the fit is within 1e-6 of the best of fits from the truth and from `starts` random points.
bool reaches_best(const nlsq::Model& model, const trials::Data& data, trials::Random& random, int starts) {
  const double cost = fitted_cost(model, data, model.guess(data.columns(), data.y).values);
  double best = fitted_cost(model, data, data.truth);
  for (int k = 0; k < starts && cost <= best * (1 + 1e-6); ++k)
    best = std::min(best, fitted_cost(model, data, random.parameters(model)));
  return cost <= best * (1 + 1e-6);
}

// Returns the fraction of `count` seeded trials that succeed. Sizes are 30 to 2000, with even and uneven x in
// turn.
double success_rate(const nlsq::Model& model, double snr, int count, int starts) {
  constexpr std::array<std::size_t, 6> sizes = {30, 50, 100, 250, 700, 2000};
  trials::Random random(20240501);
  int successes = 0;
  for (int t = 0; t < count; ++t) {
    const std::size_t rows = sizes[static_cast<std::size_t>(t) % sizes.size()];
    const bool even = (t / static_cast<int>(sizes.size())) % 2 == 0;
    const trials::Data data = trials::draw(model, random, rows, even, snr);
    successes += reaches_best(model, data, random, starts) ? 1 : 0;
  }
  return static_cast<double>(successes) / count;
}

bool all_finite(const std::vector<double>& values) {
  for (const double value : values)
    if (!std::isfinite(value)) return false;
  return true;
}

const std::vector<std::string> kDemanded = {
    "constant", "linear",   "poly2", "poly3",    "poly4",      "poly5",    "exp",
    "exp0",     "biexp",    "power", "gaussian", "lorentzian", "logistic", "michaelis_menten",
    "sine",     "logistic4"};

}  // namespace

TEST_CASE("fits of the sixteen basic models start well: 95 % at signal-to-noise 100 and 20") {
  for (const std::string& name : kDemanded) {
    const nlsq::Model& model = nlsq::model(name);
    for (const double snr : {100.0, 20.0}) {
      const double rate = success_rate(model, snr, 24, 2);
      INFO(name, " at ", snr, ": ", rate);
      CHECK(rate >= 0.95);
    }
  }
}

TEST_CASE("fits of every other model start well: 85 % at signal-to-noise 100") {
  for (const nlsq::Model& model : nlsq::models()) {
    if (std::find(kDemanded.begin(), kDemanded.end(), model.name) != kDemanded.end()) continue;
    const double rate = success_rate(model, 100, 12, 1);
    INFO(model.name, ": ", rate);
    CHECK(rate >= 0.85);
  }
}

TEST_CASE("flat data give a warning and finite values, for every model") {
  for (const nlsq::Model& model : nlsq::models()) {
    CAPTURE(model.name);
    trials::Random random(1);
    trials::Data data = trials::draw(model, random, 50, true, 100);
    for (const double level : {0.0, 3.5, -1e12}) {
      data.y.assign(50, level);
      const nlsq::Guess guess = model.guess(data.columns(), data.y);
      CHECK(guess.values.size() == model.parameters.size());
      CHECK(all_finite(guess.values));
      CHECK(guess.warning.empty() == (model.parameters.size() == 1));
    }
  }
}

TEST_CASE("if y is 0 throughout, every model can start from its guess") {
  std::vector<double> x, x2;
  for (int i = 0; i < 50; ++i) x.push_back(0.1 + 0.08 * i), x2.push_back(std::sin(0.24 * i));
  const std::vector<double> y(50, 0.0);
  for (const nlsq::Model& model : nlsq::models()) {
    CAPTURE(model.name);
    std::vector<nlsq::Column> columns{x};
    if (model.predictors > 1) columns.emplace_back(x2);
    const nlsq::FitResult fit = nlsq::curve_fit(model, nlsq::Columns(columns), y);
    CAPTURE(fit.summary.message);
    CHECK(fit.summary.verdict != nlsq::Verdict::failed);
  }
}

TEST_CASE("useless data give a warning and finite values, for every model") {
  const std::vector<std::pair<std::vector<double>, std::vector<double>>> useless = {
      {{}, {}},
      {{1}, {2}},
      {{3, 3, 3, 3, 3, 3, 3, 3, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
      {{kNan, 1, kInf}, {1, kNan, 2}},
      {{-3, -2, -1}, {1, kInf, 5}}};
  for (const nlsq::Model& model : nlsq::models()) {
    CAPTURE(model.name);
    for (const auto& [x, y] : useless) {
      const std::vector<std::span<const double>> columns(static_cast<std::size_t>(model.predictors), x);
      const nlsq::Guess guess = model.guess(columns, y);
      CHECK(guess.values.size() == model.parameters.size());
      CHECK(all_finite(guess.values));
      if (model.parameters.size() > 2) CHECK(!guess.warning.empty());
    }
  }
}

TEST_CASE("extreme scales leave guesses finite, for every model") {
  for (const nlsq::Model& model : nlsq::models()) {
    CAPTURE(model.name);
    for (const double x_scale : {1e-100, 1e-6, 1e9, 1e100})
      for (const double y_scale : {1e-100, 1e12, 1e100}) {
        trials::Random random(2);
        trials::Data data = trials::draw(model, random, 40, false, 20);
        for (auto& column : data.x)
          for (double& value : column) value *= x_scale;
        for (double& value : data.y) value *= y_scale;
        CHECK(all_finite(model.guess(data.columns(), data.y).values));
      }
  }
}

TEST_CASE("pure noise leaves guesses finite, for every model") {
  for (const nlsq::Model& model : nlsq::models()) {
    CAPTURE(model.name);
    trials::Random random(3);
    trials::Data data = trials::draw(model, random, 200, false, 20);
    for (double& value : data.y) value = random.normal();
    CHECK(all_finite(model.guess(data.columns(), data.y).values));
  }
}

TEST_CASE("the order of rows does not matter") {
  for (const nlsq::Model& model : nlsq::models()) {
    if (model.predictors > 1) continue;
    CAPTURE(model.name);
    trials::Random random(4);
    const trials::Data data = trials::draw(model, random, 101, true, 50);
    trials::Data shuffled = data;
    for (std::size_t i = 0; i < 101; ++i) {
      shuffled.x[0][i] = data.x[0][i * 37 % 101];
      shuffled.y[i] = data.y[i * 37 % 101];
    }
    CHECK(model.guess(data.columns(), data.y).values == model.guess(shuffled.columns(), shuffled.y).values);
  }
}

TEST_CASE("rows that are not finite are left out") {
  const nlsq::Model& model = nlsq::model("gaussian");
  trials::Random random(5);
  const trials::Data data = trials::draw(model, random, 80, true, 50);
  trials::Data holed = data;
  for (const double bad : {kNan, kInf, -kInf}) {
    holed.x[0].insert(holed.x[0].begin() + 40, 5.0);
    holed.y.insert(holed.y.begin() + 40, bad);
    holed.x[0].push_back(bad);
    holed.y.push_back(1e6);
  }
  CHECK(model.guess(data.columns(), data.y).values == model.guess(holed.columns(), holed.y).values);
}

TEST_CASE("dips are found as well as peaks") {
  for (const char* name : {"gaussian", "lorentzian", "voigt", "pseudo_voigt", "moffat", "pearson7"}) {
    CAPTURE(name);
    const nlsq::Model& model = nlsq::model(name);
    trials::Random random(6);
    trials::Data data = trials::draw(model, random, 120, false, 20);
    for (double& value : data.y) value = -value;
    data.truth.front() *= -1;
    data.truth.back() *= -1;
    CHECK(reaches_best(model, data, random, 0));
    CHECK(model.guess(data.columns(), data.y).values.front() < 0);
  }
}

TEST_CASE("values too large for a guess are said to be so") {
  std::vector<double> x, y;
  for (int i = 0; i < 40; ++i) {
    x.push_back(0.25 * i);
    y.push_back(1e150 * (3 * std::exp(-x.back()) + 1));
  }
  const std::string warning = nlsq::model("exp").guess(x, y).warning;
  CAPTURE(warning);
  CHECK(warning.find("1e+150") != std::string::npos);
  CHECK(warning.find("other units") != std::string::npos);
}

TEST_CASE("x may lie anywhere: years, nanometres, kelvin") {
  const nlsq::Model& model = nlsq::model("gaussian");
  std::vector<double> x, y;
  for (int i = 0; i < 200; ++i) {
    x.push_back(532e-9 + 1e-12 * i);
    y.push_back(3 + 2 * std::exp(-std::pow((i - 77.0) / 9, 2) / 2));
  }
  const nlsq::Guess guess = model.guess(x, y);
  CHECK(guess.values[1] == doctest::Approx(532e-9 + 77e-12).epsilon(1e-8));
  CHECK(guess.values[2] == doctest::Approx(9e-12).epsilon(1e-3));
}

TEST_CASE("x where the model is undefined is left out and reported") {
  std::vector<double> x, y;
  for (int i = -5; i < 40; ++i) {
    x.push_back(i);
    y.push_back(i > 0 ? 3 * std::pow(i, 1.5) : 0.0);
  }
  const nlsq::Guess guess = nlsq::model("power").guess(x, y);
  CHECK(guess.values[0] == doctest::Approx(3).epsilon(1e-3));
  CHECK(guess.values[1] == doctest::Approx(1.5).epsilon(1e-4));
  CHECK(!guess.warning.empty());
}

TEST_CASE("long data: an oscillation far above what a thousand rows could show is found") {
  std::vector<double> x, y;
  trials::Random random(7);
  for (int i = 0; i < 200000; ++i) {
    x.push_back(i * 1e-5);
    y.push_back(0.5 * std::sin(2 * std::numbers::pi * 9123.4 * x.back() + 0.3) + 0.1 * random.normal());
  }
  const nlsq::Guess guess = nlsq::model("sine").guess(x, y);
  CHECK(guess.values[1] == doctest::Approx(9123.4).epsilon(1e-5));
  CHECK(guess.values[0] == doctest::Approx(0.5).epsilon(0.05));
}

TEST_CASE("uneven rows: waves of less than two mean gaps are found") {
  int found = 0, draws = 0;
  for (const double period : {1.3, 3.0, 4.23, 7.0}) {
    for (unsigned seed = 0; seed < 10; ++seed, ++draws) {
      std::mt19937 random(seed);
      std::uniform_real_distribution<double> time(0, 200);
      std::normal_distribution<double> noise(0, 6);
      std::vector<double> x(60), y;
      for (double& t : x) t = time(random);
      for (const double t : x)
        y.push_back(55 * std::sin(2 * std::numbers::pi * t / period + 1) - 12 + noise(random));
      const std::vector<double> guess = nlsq::model("sine").guess(x, y).values;
      found += std::fabs(guess[1] * period - 1) < 0.01 ? 1 : 0;
    }
  }
  CHECK(found >= draws - 1);
}

TEST_CASE("long data: a line far narrower than a sampled row is found, sorted or not") {
  const std::size_t n = 400000;
  std::vector<double> x(n), y(n);
  trials::Random random(8);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = static_cast<double>(i * 7919 % n) / static_cast<double>(n);
    y[i] = 1 + 4 * std::exp(-std::pow((x[i] - 0.3217) / 1e-4, 2) / 2) + 0.1 * random.normal();
  }
  const nlsq::Guess guess = nlsq::model("gaussian").guess(x, y);
  CHECK(guess.values[0] == doctest::Approx(4).epsilon(0.1));
  CHECK(guess.values[1] == doctest::Approx(0.3217).epsilon(1e-4));
  CHECK(guess.values[2] == doctest::Approx(1e-4).epsilon(0.1));
}

TEST_CASE("a million rows cost little more than a thousand") {
  for (const char* name : {"exp", "gaussian", "sine", "logistic"}) {
    CAPTURE(name);
    const nlsq::Model& model = nlsq::model(name);
    trials::Random random(9);
    const trials::Data data = trials::draw(model, random, 1000000, true, 50);
    const std::clock_t start = std::clock();  // processor time, because the machine may be busy
    model.guess(data.columns(), data.y);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    CHECK(seconds < 20.0);
#else
    CHECK(seconds < 1.0);  // 1 to 60 ms were measured
#endif
  }
}
