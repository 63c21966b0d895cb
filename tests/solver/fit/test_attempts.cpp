// Tests that the parts of a solve, from samples to later attempts, keep one account of iterations, counts,
// stops and costs.
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include "rows/graph_rows.hpp"
#include "rows/residual_sources.hpp"
#include "rows/sample_rows.hpp"

#include <cmath>

using namespace nlsq;

namespace {

constexpr std::size_t kRows = 1 << 19;  // enough for samples

struct Decay {
  std::vector<double> x, y;
  Decay() : x(kRows), y(kRows) {
    std::uint64_t state = 1;
    for (std::size_t i = 0; i < kRows; ++i) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      x[i] = 5.0 * static_cast<double>(i) / kRows;
      y[i] = 3 * std::exp(-0.8 * x[i]) + 1 + 0.1 * (static_cast<double>(state >> 40) / (1 << 24) - 0.5);
    }
  }
};
const Decay& decay() {
  static const Decay data;
  return data;
}
const char* const kModel = "a*exp(-b*x)+c";
const NamedValues kStart{{"a", 1}, {"b", 3}, {"c", 0}};

double cost_of(const std::vector<double>& p) {
  long double sum = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    const double r = p[0] * std::exp(-p[1] * decay().x[i]) + p[2] - decay().y[i];
    sum += static_cast<long double>(r) * r;
  }
  return static_cast<double>(sum / 2);
}

// Checks that the counts in the summary are those of the trace and of the callback.
void check_account(const Summary& s, const std::vector<IterationSummary>& seen) {
  int accepted = 0, rejected = 0, escalations = 0;
  for (std::size_t i = 0; i < s.iterations.size(); ++i) {
    const IterationSummary& it = s.iterations[i];
    CHECK(it.iteration == static_cast<int>(i));
    accepted += it.outcome == StepOutcome::accepted;
    rejected += it.outcome == StepOutcome::rejected || it.outcome == StepOutcome::invalid;
    escalations += it.event != Event::none && it.event != Event::rollback &&
                   it.event != Event::sample_abandoned && it.event != Event::last_step;
  }
  CHECK(s.accepted == accepted);
  CHECK(s.rejected == rejected);
  CHECK(s.precision.escalations == escalations);
  REQUIRE(seen.size() == s.iterations.size());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    CHECK(seen[i].iteration == static_cast<int>(i));
    CHECK(seen[i].event == s.iterations[i].event);
    CHECK(seen[i].rows == s.iterations[i].rows);
  }
}

struct Watched {
  FitOptions options;
  std::vector<IterationSummary> seen;
  int stop_after = 1 << 30;
  Watched() {
    options.callback = [this](const IterationSummary& it) {
      seen.push_back(it);
      return static_cast<int>(seen.size()) >= stop_after ? Stop : Continue;
    };
  }
};

}  // namespace

TEST_CASE("iterations on samples, on all rows and of every attempt are one account") {
  {
    Watched watched;
    const FitResult fit = curve_fit(kModel, decay().x, decay().y, kStart, watched.options);
    CHECK(fit.success());
    CHECK(fit.summary.iterations.front().rows < kRows);
    check_account(fit.summary, watched.seen);
  }
  {  // the samples miss a peak of twenty rows
    std::vector<double> y(kRows, 0.0);
    for (std::size_t i = 0; i < 20; ++i)
      y[200000 + i] = std::exp(-std::pow((static_cast<double>(i) - 10) / 5, 2));
    Watched watched;
    const FitResult fit = curve_fit("a*exp(-((x-c)*100000/w)^2)", decay().x, y,
                                    {{"a", 1}, {"c", decay().x[200008]}, {"w", 5}}, watched.options);
    CHECK(fit.success());
    bool abandoned = false;
    for (const IterationSummary& it : fit.summary.iterations)
      abandoned = abandoned || it.event == Event::sample_abandoned;
    CHECK(abandoned);
    check_account(fit.summary, watched.seen);
  }
  {  // this makes a second attempt
    std::vector<double> x, y;
    for (int i = 0; i < 50; ++i) {
      x.push_back(i / 49.0);
      y.push_back(std::exp(1.3 * x.back()) + 0.05 * std::sin(37 * i));
    }
    Watched watched;
    const FitResult fit = curve_fit("sqrt(abs(p))*x-q^2", x, y, {{"p", 4}, {"q", 1}}, watched.options);
    check_account(fit.summary, watched.seen);
  }
}

TEST_CASE("max_iterations limits the sum over samples and attempts") {
  for (const int most : {0, 1, 2, 3, 4, 5, 7, 9}) {
    Watched watched;
    watched.options.max_iterations = most;
    const FitResult fit = curve_fit(kModel, decay().x, decay().y, kStart, watched.options);
    CHECK(fit.summary.iterations.size() <= static_cast<std::size_t>(most));
    check_account(fit.summary, watched.seen);
    CHECK(fit.summary.final_cost <= fit.summary.initial_cost * (1 + 1e-12));
  }
}

TEST_CASE(
    "a stop while samples are fitted is a stop: no samples abandoned, no further attempt, no further call") {
  for (const int calls : {1, 2, 3}) {
    Watched watched;
    watched.stop_after = calls;
    const FitResult fit = curve_fit(kModel, decay().x, decay().y, kStart, watched.options);
    CHECK(watched.seen.size() == static_cast<std::size_t>(calls));
    for (const IterationSummary& it : fit.summary.iterations) CHECK(it.event != Event::sample_abandoned);
    CHECK(fit.summary.termination == Termination::user_stop);
    CHECK(fit.summary.final_cost <= fit.summary.initial_cost * (1 + 1e-12));
    check_account(fit.summary, watched.seen);
  }
}

TEST_CASE("a stop at a point that is certified on fewer dimensions starts no second attempt") {
  // Where the first step leads, b has no effect. The point is certified with rank 1, although both count at
  // the start.
  std::vector<double> x, y;
  for (int i = 0; i < 40; ++i) {
    x.push_back(1 + i / 39.0);
    y.push_back(2 + 0.1 * std::sin(11 * i));
  }
  for (int calls = 1; calls < 30; ++calls) {
    Watched watched;
    watched.stop_after = calls;
    curve_fit("a+exp(-b*x)", x, y, {{"a", 0}, {"b", 6}}, watched.options);
    CHECK(watched.seen.size() <= static_cast<std::size_t>(calls));
  }
}

TEST_CASE("initial_cost is the cost at the starting values given, on all rows, whatever was sampled first") {
  for (const NamedValues& start : {kStart, NamedValues{{"a", 30}, {"b", 0.1}, {"c", -20}},
                                   NamedValues{{"a", 3}, {"b", 0.8}, {"c", 1}}}) {
    const FitResult fit = curve_fit(kModel, decay().x, decay().y, start);
    CHECK(fit.success());
    CHECK(fit.summary.initial_cost ==
          doctest::Approx(cost_of({start[0].second, start[1].second, start[2].second})).epsilon(1e-6));
  }
}

TEST_CASE("samples that lead to a higher cost than that of the starting values are left") {
  const std::vector<double> x(kRows, 0.0);
  const Formula formula = parse_formula("exp(b+x)");
  GraphRows rows(std::make_shared<FormulaResidual>(formula, false),
                 std::make_shared<MemoryRows>(std::vector<Column>{x, x}), {0.0}, {0});
  std::vector<bool> sampled(kRows, false);
  for (const std::size_t share : {256, 16}) {
    const SampleRows sample(rows, kRows / share);
    for (std::size_t k = 0; k < sample.tile_count(); ++k) {
      const TileRange window = sample.tile(k);
      for (std::size_t i = window.first; i < window.first + window.count; ++i) sampled[i] = true;
    }
  }
  // The test adds a shift to y in the rows that the samples take. The noise of y has a standard deviation of
  // 0.7, so 0.006 is about 6 standard errors of a fit of all rows. A sample of a sixteenth of the rows may be
  // as far off by chance. It cannot be off by 0.3 by chance.
  struct Case {
    double shift;
    const char* reason;
  };
  for (const Case& c : {Case{0.006, "lower cost"}, Case{0.3, "do not represent all rows"}}) {
    CAPTURE(c.shift);
    std::vector<double> y(kRows);
    double sum = 0;
    for (std::size_t i = 0; i < kRows; ++i) {
      y[i] = std::sin(2.4 * static_cast<double>(i)) + 1 + (sampled[i] ? c.shift : 0.0);
      sum += y[i];
    }
    const double best = std::log(sum / kRows);
    const FitResult fit = curve_fit(formula, x, y, {{"b", best}});
    CHECK(fit.success());
    CHECK(fit.summary.final_cost <= fit.summary.initial_cost * (1 + 1e-15));
    CHECK(fit.parameters[0] == doctest::Approx(best).epsilon(1e-9));
    bool left = false;
    for (const IterationSummary& it : fit.summary.iterations)
      left = left || it.reason.find(c.reason) != std::string::npos;
    CHECK(left);
  }
}

TEST_CASE("starting values that solve the linear problem already are not made worse") {
  std::vector<double> x, y;
  for (int i = 0; i < 60; ++i) {
    x.push_back(1e7 + i);
    y.push_back(1 + 2 * x.back() + 0.5 * std::sin(5 * i));
  }
  const FitResult best = curve_fit("a+b*x", x, y, {{"a", 0}, {"b", 0}});
  REQUIRE(best.success());
  for (const double share : {0.0, 1e-9, 1e-7, -1e-8}) {
    FitOptions options;
    options.max_iterations = 0;
    const NamedValues start{{"a", best.parameters[0]}, {"b", best.parameters[1] * (1 + share * 1e-7)}};
    const FitResult fit = curve_fit("a+b*x", x, y, start, options);
    CHECK(fit.summary.final_cost <= fit.summary.initial_cost * (1 + 1e-14));  // by QR and by sums of squares
  }
}

TEST_CASE("a parameter whose square alone matters ends at zero where a negative square would fit best") {
  std::vector<double> x, y;
  for (int i = 1; i <= 60; ++i) {
    x.push_back(0.1 * i);
    y.push_back(0.2 * i - 0.05 + 0.02 * std::sin(7.0 * i));
  }
  for (const char* const model : {"a*x+b^2", "a*hypot(x,b)", "a*sqrt(x^2+b^2)"}) {
    CAPTURE(model);
    const FitResult fit = curve_fit(model, x, y, {{"a", 1}, {"b", 1}});
    CHECK(fit.success());
    CHECK(fit.summary.verdict == Verdict::rank_deficient);
    CHECK(fit.parameters[1] == 0);
    CHECK(fit.parameters[0] == doctest::Approx(curve_fit("a*x", x, y, {{"a", 1}}).parameters[0]));
  }
  // If the best b is not zero, it is found.
  for (double& value : y) value += 1.05;
  const FitResult fit = curve_fit("a*x+b^2", x, y, {{"a", 1}, {"b", 1e-9}});
  CHECK(fit.success());
  CHECK(std::fabs(fit.parameters[1]) == doctest::Approx(1).epsilon(0.05));
}
