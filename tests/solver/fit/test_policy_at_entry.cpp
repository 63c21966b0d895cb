// Tests which policy a solve runs under: its own, or else that of the thread when it is called.
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

const auto decay = [](const auto& x, const auto& p) {
  using std::exp;
  return p[0] * exp(-p[1] * x) + p[2];
};

struct Data {
  std::vector<double> x, y;
  Data() {
    for (int i = 0; i < 200; ++i) {
      x.push_back(0.05 * i);
      y.push_back(2 * std::exp(-0.5 * x.back()) + 1 + 0.01 * std::sin(37.0 * i));
    }
  }
};

FitResult run(const FitOptions& options) {
  const Data d;
  return curve_fit(decay, d.x, d.y, {1.0, 1.0, 0.0}, options);
}

}  // namespace

TEST_CASE(
    "options that name no policy take the scope's when the solve is called, and others keep their own") {
  FitOptions unnamed, named;
  named.precision = PrecisionPolicy::parse("auto");
  const PrecisionScope scope(PrecisionPolicy::parse("f32"));
  const FitResult inherited = run(unnamed), own = run(named);
  CHECK(inherited.summary.precision.policy == "f32");
  CHECK(inherited.summary.precision.counters.rows_f32 > 0);
  CHECK(own.summary.precision.policy == "auto");
  CHECK(own.summary.precision.counters.rows_f32 == 0);  // 200 rows are gated to f64
}

TEST_CASE("a solve under way does not notice a scope that its callback opens") {
  FitOptions options;
  int calls = 0;
  options.callback = [&](const IterationSummary&) {
    const PrecisionScope scope(PrecisionPolicy::parse("f32"));
    ++calls;
    return run(FitOptions{}).summary.precision.policy == "f32" ? Continue : Stop;
  };
  const FitResult fit = run(options);
  CHECK(fit.success());
  CHECK(fit.summary.precision.policy == "auto");
  CHECK(fit.summary.precision.counters.rows_f32 == 0);
  CHECK(calls > 1);
}

TEST_CASE("a curve has no named components, and a policy that names some is refused") {
  FitOptions options;
  options.precision = PrecisionPolicy::parse("imu.residual=f64,gps.gram=f32,gate=off");
  try {
    run(options);
    FAIL("the components were ignored");
  } catch (const ValidationError& error) {
    REQUIRE(error.violations().size() == 2);
    CHECK(error.violations()[0].find("imu") != std::string::npos);
    CHECK(error.violations()[1].find("gps") != std::string::npos);
  }
}

TEST_CASE("an unsound policy made by hand is refused at entry with all it breaks") {
  FitOptions options;
  options.precision.emplace();
  options.precision->gram = Format::bf16;
  options.precision->solve = Format::f32;
  options.precision->thresholds.epsilon_j = 0;
  try {
    run(options);
    FAIL("it ran");
  } catch (const ValidationError& error) {
    CHECK(error.violations().size() == 3);
  }
}

TEST_CASE("policy strict re-evaluates every row through the callable") {
  std::vector<double> x, y;
  for (int i = 0; i < 20000; ++i) {
    x.push_back(1e-3 * i);
    y.push_back(2 * std::exp(-0.5 * x.back()) + 1 + 0.01 * std::sin(37.0 * i));
  }
  FitOptions options;
  CHECK(curve_fit(decay, x, y, {1.0, 1.0, 0.0}, options).summary.certificate.rechecked_rows < x.size());
  options.precision = PrecisionPolicy::parse("strict");
  CHECK(curve_fit(decay, x, y, {1.0, 1.0, 0.0}, options).summary.certificate.rechecked_rows >= x.size());
}
