// Tests several starts: the best certified minimum is returned, all others are listed, and a seed gives the
// same.
#include "start/multi_start.hpp"

#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "corpora/noise.hpp"

using namespace nlsq;

namespace {

const std::string kWave = "a*sin(w*x)";

struct Data {
  std::vector<double> x, y;
};
// Returns data with many minima in w, of which the deepest is at 3.7.
Data wave_data() {
  Data d;
  problems::Noise random(11);
  for (int i = 0; i < 80; ++i) {
    d.x.push_back(0.1 * i);
    d.y.push_back(1.5 * std::sin(3.7 * d.x.back()) + 0.05 * random.normal());
  }
  return d;
}
FitOptions with_starts(int starts, std::uint64_t seed = 1) {
  FitOptions options;
  options.starts = starts;
  options.seed = seed;
  options.threads = 1;
  return options;
}

}  // namespace

TEST_CASE("starts within bounds find the deepest minimum that one start misses") {
  const Data d = wave_data();
  FitOptions options = with_starts(32);
  options.bounds = {{-10, 0.1}, {10, 10}};
  FitOptions one = options;
  one.starts = 1;
  const FitResult missed = curve_fit(kWave, d.x, d.y, {{"a", 1}, {"w", 0.5}}, one);
  CHECK(std::fabs(missed.parameters[1] - 3.7) > 0.5);
  CHECK(missed.minima.empty());
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    options.seed = seed;
    const FitResult found = curve_fit(kWave, d.x, d.y, {{"a", 1}, {"w", 0.5}}, options);
    CHECK(found.success());
    CHECK(found.parameters[1] == doctest::Approx(3.7).epsilon(0.01));
    CHECK(found.parameters[0] == doctest::Approx(1.5).epsilon(0.05));
    REQUIRE(found.minima.size() > 2);
    CHECK(found.minima[0].parameters == found.parameters);
    CHECK(found.minima[0].cost == found.summary.final_cost);
    CHECK(found.guess == std::vector<double>{1, 0.5});
    int starts = 0;
    bool the_missed_one = false;
    for (std::size_t k = 0; k < found.minima.size(); ++k) {
      const FitMinimum& m = found.minima[k];
      starts += m.starts;
      the_missed_one = the_missed_one ||
                       (m.first_start == 0 && std::fabs(m.cost - missed.summary.final_cost) <= 1e-9 * m.cost);
      for (std::size_t j = 0; j < 2; ++j)
        CHECK((m.parameters[j] >= options.bounds.lower[j] && m.parameters[j] <= options.bounds.upper[j]));
      if (k > 0 && is_success(m.verdict) == is_success(found.minima[k - 1].verdict))
        CHECK(m.cost >= found.minima[k - 1].cost * (1 - 1e-8));
    }
    CHECK(starts == 32);
    CHECK(the_missed_one);
  }
}

TEST_CASE("the same seed gives the same bits, on any number of threads, prepared or not") {
  const Data d = wave_data();
  FitOptions options = with_starts(12, 7);
  const FitResult a = curve_fit(kWave, d.x, d.y, {{"a", 1}, {"w", 2}}, options);
  options.threads = 2;
  const FitResult b = curve_fit(kWave, d.x, d.y, {{"a", 1}, {"w", 2}}, options);
  const FitResult c =
      curve_fit(PreparedModel(kWave), Columns(d.x), d.y, NamedValues{{"a", 1}, {"w", 2}}, options);
  for (const FitResult* other : {&b, &c}) {
    CHECK(other->parameters == a.parameters);
    REQUIRE(other->minima.size() == a.minima.size());
    for (std::size_t k = 0; k < a.minima.size(); ++k) {
      CHECK(other->minima[k].parameters == a.minima[k].parameters);
      CHECK(other->minima[k].starts == a.minima[k].starts);
    }
  }
}

TEST_CASE("starts are a Latin hypercube: one in each layer of every dimension") {
  constexpr int kStarts = 17;
  const std::vector<double> x0{1, 1, 1, 1};
  const Limits limits{{0, -2, 1e-3, -INFINITY}, {16, 2, 1e3, INFINITY}};
  std::vector<std::set<int>> layers(3);
  int beyond = 0;
  for (int k = 1; k < kStarts; ++k) {
    const std::vector<double> x = scattered_start(x0, limits, k, kStarts, 5);
    CHECK(x == scattered_start(x0, limits, k, kStarts, 5));
    CHECK(x != scattered_start(x0, limits, k, kStarts, 6));
    layers[0].insert(static_cast<int>(std::floor(x[0])));
    layers[1].insert(static_cast<int>(std::floor((x[1] + 2) * 4)));
    layers[2].insert(static_cast<int>(std::floor(16 * std::log(x[2] / 1e-3) / std::log(1e6))));
    beyond += std::fabs(x[3] - 1) > 1;
  }
  for (const auto& layer : layers) CHECK(layer.size() == 16);
  CHECK(beyond == 8);  // half of them are farther away than its size
}

TEST_CASE("one-sided bounds are kept by starts, and fixed parameters stay") {
  const Limits limits{{0.5, -INFINITY}, {INFINITY, 0.1}};
  for (int k = 1; k < 40; ++k) {
    const std::vector<double> x = scattered_start(std::vector<double>{1, -2}, limits, k, 40, 3);
    CHECK(x[0] >= 0.5);
    CHECK(x[1] <= 0.1);
  }
  const Data d = wave_data();
  FitOptions options = with_starts(5);
  options.fixed = {"a"};
  const FitResult r = curve_fit(kWave, d.x, d.y, {{"a", 1.5}, {"w", 3.5}}, options);
  for (const FitMinimum& m : r.minima) CHECK(m.parameters[0] == 1.5);
}

TEST_CASE("a start without finite residuals is listed as failed, and is never the best") {
  const Data d = wave_data();
  const FitResult r = curve_fit("a*sqrt(w)*sin(w*x)", d.x, d.y, {{"a", 1}, {"w", 3.5}}, with_starts(20));
  CHECK(r.success());
  int failed = 0;
  for (const FitMinimum& m : r.minima) {
    if (m.verdict != Verdict::failed) continue;
    ++failed;
    CHECK(std::isnan(m.cost));
  }
  CHECK(failed > 0);
  CHECK(r.minima.back().verdict == Verdict::failed);
}

TEST_CASE("the callback stops all starts, and wrong numbers of them are refused") {
  const Data d = wave_data();
  FitOptions options = with_starts(50);
  int calls = 0;
  options.callback = [&](const IterationSummary&) { return ++calls >= 3 ? Stop : Continue; };
  const FitResult r = curve_fit(kWave, d.x, d.y, {{"a", 1}, {"w", 2}}, options);
  int starts = 0;
  for (const FitMinimum& m : r.minima) starts += m.starts;
  CHECK(starts < 3);
  CHECK_THROWS_AS(curve_fit(kWave, d.x, d.y, {}, with_starts(0)), ValidationError);
  Matrix P0(1, 2), Y(1, d.y.size());
  CHECK_THROWS_AS(curve_fit_batch(kWave, d.x, Y, P0, with_starts(0)), ValidationError);
}

namespace {

struct ManyRows {
  static constexpr int kRows = 200'000;
  const std::string text = "a*exp(-b*x)+c";
  Data d;
  ManyRows() {
    problems::Noise random(5);
    for (int i = 0; i < kRows; ++i) {
      d.x.push_back(5.0 * i / kRows);
      d.y.push_back(5 * std::exp(-1.3 * d.x.back()) + 0.5 + 0.01 * random.normal());
    }
  }
  FitResult fit(const FitOptions& options) const {
    return curve_fit(text, d.x, d.y, {{"a", 5}, {"b", 1.3}, {"c", 0.5}}, options);
  }
  double cost(const std::vector<double>& p) const {  // the cost of all rows, not of a sample
    const std::vector<double> values = evaluate(text, d.x, p, PrecisionPolicy::all_f64()).values;
    double sum = 0;
    for (std::size_t i = 0; i < d.y.size(); ++i) sum += 0.5 * std::pow(values[i] - d.y[i], 2);
    return sum;
  }
};

}  // namespace

TEST_CASE("with many rows a start that leads nowhere is followed on a sample of them") {
  const ManyRows many;
  FitOptions options = with_starts(3);
  double rows = 0;
  options.callback = [&](const IterationSummary& it) {
    rows += static_cast<double>(it.rows);
    return Continue;
  };
  const FitResult r = many.fit(options);
  CHECK(r.success());
  CHECK(r.parameters[1] == doctest::Approx(1.3).epsilon(1e-3));
  // One start falls towards a straight line for as many iterations as are allowed.
  int lost = 0, starts = 0;
  for (const FitMinimum& m : r.minima) {
    starts += m.starts;
    if (is_success(m.verdict)) continue;
    ++lost;
    CHECK(m.cost == doctest::Approx(many.cost(m.parameters)).epsilon(1e-9));
  }
  CHECK(starts == 3);
  CHECK(lost == 1);
  CHECK(r.minima[0].starts == 2);
  CHECK(rows < 100.0 * ManyRows::kRows);
}

TEST_CASE("wherever several starts are stopped, what was found on a sample is not the answer") {
  const ManyRows many;
  FitOptions options = with_starts(4);
  int calls = 0, last = 1;
  options.callback = [&](const IterationSummary&) { return ++calls >= last ? Stop : Continue; };
  for (last = 1; last < 40; ++last) {
    CAPTURE(last);
    calls = 0;
    const FitResult r = many.fit(options);
    for (const FitMinimum& m : r.minima)
      CHECK(m.cost == doctest::Approx(many.cost(m.parameters)).epsilon(1e-6));
    CHECK(r.summary.final_cost == doctest::Approx(many.cost(r.parameters)).epsilon(1e-6));
  }
}

TEST_CASE("each fit of a batch makes the starts that a fit alone makes") {
  const Data d = wave_data();
  BatchOptions options = with_starts(32);
  options.bounds = {{-10, 0.1}, {10, 10}};
  Matrix P0(1, 2), Y(40, d.y.size());
  P0(0, 0) = 1, P0(0, 1) = 0.5;
  for (std::size_t f = 0; f < 40; ++f) {
    for (std::size_t i = 0; i < d.y.size(); ++i) Y(f, i) = d.y[i] * (1 + 0.01 * static_cast<double>(f));
  }
  const BatchResult many = curve_fit_batch(kWave, d.x, Y, P0, options);
  CHECK(many.success());
  for (const std::size_t f : {std::size_t{0}, std::size_t{39}}) {
    const FitResult one = curve_fit(PreparedModel(kWave), d.x, Column(&Y(f, 0), d.y.size()),
                                    std::vector<double>{1, 0.5}, options);
    CHECK(many.parameters(f, 1) == one.parameters[1]);
    CHECK(many.parameters(f, 1) == doctest::Approx(3.7).epsilon(0.01));
  }
}

TEST_CASE(
    "least_squares from several starts: the best certified minimum, all others listed, the same for the same "
    "seed") {
  // From the usual start, Freudenstein and Roth's function leads into the local minimum with ‖r‖² = 48.98.
  // The other minimum is 0 at (5, 4).
  const auto residuals = [](const auto& p) {
    return std::vector{-13.0 + p[0] + ((5.0 - p[1]) * p[1] - 2.0) * p[1],
                       -29.0 + p[0] + ((p[1] + 1.0) * p[1] - 14.0) * p[1]};
  };
  LeastSquaresOptions options;
  const LeastSquaresResult one = least_squares(residuals, {0.5, -2.0}, options);
  CHECK(2 * one.cost == doctest::Approx(48.9842537).epsilon(1e-8));
  CHECK(one.minima.empty());
  options.starts = 16;
  const LeastSquaresResult best = least_squares(residuals, {0.5, -2.0}, options);
  CHECK(best.summary.verdict == Verdict::converged);
  CHECK(best.cost < 1e-20);
  CHECK(best.x[0] == doctest::Approx(5).epsilon(1e-9));
  CHECK(best.x[1] == doctest::Approx(4).epsilon(1e-9));
  REQUIRE(best.minima.size() >= 2);
  CHECK(best.minima[0].parameters == best.x);
  int starts = 0;
  bool local = false;
  for (const FitMinimum& m : best.minima) {
    starts += m.starts;
    local = local || std::fabs(2 * m.cost - 48.9842537) < 1e-6;
  }
  CHECK(starts == 16);
  CHECK(local);
  const LeastSquaresResult again = least_squares(residuals, {0.5, -2.0}, options);
  CHECK(again.x == best.x);
  CHECK(again.minima.size() == best.minima.size());
  // If the bounds exclude the lower minimum, every start stays within them.
  options.bounds = {{-10, -3}, {30, 2}};
  const LeastSquaresResult inside = least_squares(residuals, {0.5, -2.0}, options);
  CHECK(2 * inside.cost == doctest::Approx(48.9842537).epsilon(1e-8));
  for (const FitMinimum& m : inside.minima) {
    CHECK((m.parameters[0] >= -10 && m.parameters[0] <= 30 && m.parameters[1] >= -3 && m.parameters[1] <= 2));
  }
  options.starts = 0;
  CHECK_THROWS_AS(least_squares(residuals, {0.5, -2.0}, options), ValidationError);
}

TEST_CASE("a fit that is stopped before its last start says so") {
  const Data d = wave_data();
  FitOptions options = with_starts(500);
  options.bounds = {{-10, 0.1}, {10, 10}};
  int calls = 0;
  options.callback = [&](const IterationSummary&) { return ++calls > 40 ? Stop : Continue; };
  const FitResult fit = curve_fit(kWave, d.x, d.y, {{"a", 1}, {"w", 0.5}}, options);
  CHECK(std::ranges::any_of(fit.warnings, [](const std::string& warning) {
    return warning.find("stopped after ") != std::string::npos &&
           warning.find(" of 500 starts") != std::string::npos;
  }));
}
