// Tests that every variable that a rule may use has a value in a fit, and that rules change what the kernels
// run.
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

struct Data {
  std::vector<double> x, y;
  // The last `far` rows have a residual at the start that f32 cannot represent.
  explicit Data(std::size_t far = 0) {
    for (std::size_t i = 0; i < 20000; ++i) {
      x.push_back(2.5e-4 * static_cast<double>(i));
      if (i + far >= 20000) x.back() = -110;
      y.push_back(2 * std::exp(-0.9 * x.back()) * (1 + 0.01 * std::sin(57.0 * static_cast<double>(i))));
    }
  }
  FitResult fit(const std::string& policy) const {
    FitOptions options;
    options.precision = PrecisionPolicy::parse(policy);
    options.sigma = y;
    return curve_fit("a*exp(-b*x)", x, y, {{"a", 1}, {"b", 0.85}}, options);
  }
};

const IterationSummary* rule_event(const FitResult& fit) {
  for (const IterationSummary& it : fit.summary.iterations) {
    if (it.event == Event::rule) return &it;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("a rule on any variable acts where its condition holds, and only there") {
  const Data data;
  const struct {
    const char *holds, *never;
  } cases[] = {
      {"condition >= 1", "condition < 1"},
      {"epsilon_j <= 1", "epsilon_j > 1e9"},
      {"epsilon_f > 0", "epsilon_f < 0"},
      {"decrement > 0", "decrement < 0"},
      {"rho > 0", "rho < -1e9"},
      {"lambda >= 0", "lambda < 0"},
      {"iteration >= 1", "iteration > 1000"},
      {"rows == 0", nullptr},
      {"rows >= 20000", "rows < 20000"},
      {"n >= 2", "n > 2"},
      {"memory > 1000", "memory > 1e15"},
      {"nonfinite <= 0", "nonfinite > 0"},
  };
  for (const auto& [holds, never] : cases) {
    CAPTURE(std::string(holds));
    if (never == nullptr) {  // there is no comparison of rules
      CHECK_THROWS_AS(PrecisionPolicy::parse(std::string("f32; ") + holds + " -> residual=f64"),
                      ValidationError);
      continue;
    }
    const FitResult ruled = data.fit(std::string("f32; ") + holds + " -> residual=f64");
    const FitResult free = data.fit(std::string("f32; ") + never + " -> residual=f64");
    REQUIRE(ruled.success());
    REQUIRE(free.success());
    const IterationSummary* event = rule_event(ruled);
    REQUIRE(event != nullptr);
    CHECK(event->reason.starts_with(std::string(holds).substr(0, std::string(holds).find(' '))));
    CHECK(rule_event(free) == nullptr);
    CHECK(ruled.summary.precision.counters.rows_f32 < free.summary.precision.counters.rows_f32);
    CHECK(ruled.summary.trace_report().find("rule (") != std::string::npos);
  }
}

TEST_CASE("a rule on tiles that left f32's range sees them, where the scheduler lets a few pass") {
  const Data data(1);
  const FitResult free = data.fit("f32,threshold.nonfinite_tiles=1"),
                  ruled = data.fit("f32,threshold.nonfinite_tiles=1; nonfinite > 0 -> residual=f64");
  REQUIRE(free.success());
  REQUIRE(ruled.success());
  CHECK_FALSE(free.summary.precision.issues.empty());
  REQUIRE(rule_event(ruled) != nullptr);
  CHECK(rule_event(ruled)->iteration == 0);
  CHECK(rule_event(free) == nullptr);
}

TEST_CASE("the first rule that holds counts, and no later one") {
  const Data data;
  const FitResult first = data.fit("f32; n >= 1 -> gram=f32; n >= 1 -> residual=f64");
  REQUIRE(rule_event(first) != nullptr);
  CHECK(rule_event(first)->reason.starts_with("n >= 1 -> gram=f32"));
  CHECK(first.summary.precision.counters.gram_flops_f32 > 0);
}
