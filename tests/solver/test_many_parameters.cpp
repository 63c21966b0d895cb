// Where the Gram matrix is what a pass costs: a fit of 36 parameters begins with J in bf16 where the CPU
// multiplies it, keeps the cheap products under f64 rows, and ends where the all-f64 fit does.
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

struct Peaks {
  std::vector<double> x, y;
  std::string formula;
  NamedValues start;

  Peaks(std::size_t rows, int peaks) {
    for (std::size_t i = 0; i < rows; ++i) {
      const double at = peaks * static_cast<double>(i) / static_cast<double>(rows);
      double sum = 0.02 * std::sin(1e4 * static_cast<double>(i) * static_cast<double>(i));
      for (int k = 0; k < peaks; ++k) sum += (1 + 0.1 * k) * std::exp(-std::pow((at - k - 0.5) / 0.45, 2));
      x.push_back(at);
      y.push_back(sum);
    }
    for (int k = 0; k < peaks; ++k) {
      const std::string n = std::to_string(k);
      formula += (k > 0 ? "+h" : "h") + n + "*exp(-((x-c" + n + ")/w" + n + ")^2)";
      start.emplace_back("h" + n, 1);
      start.emplace_back("c" + n, k + 0.45);
      start.emplace_back("w" + n, 0.4);
    }
  }

  FitResult fit(const char* policy) const {
    FitOptions options;
    options.precision = PrecisionPolicy::parse(policy);
    return curve_fit(formula, x, y, start, options);
  }
};

}  // namespace

TEST_CASE("36 parameters end alike whatever J is rounded to, and the kernels' counters show what it was") {
  const Peaks data(40000, 12);
  const FitResult f64 = data.fit("f64");
  REQUIRE(f64.success());
  CHECK(f64.summary.precision.counters.gram_flops_bf16 == 0);
  for (const char* policy : {"auto", "f32", "bf16", "always_f16", "residual=f64,jacobian=bf16,gate=off"}) {
    CAPTURE(policy);
    const FitResult fit = data.fit(policy);
    const KernelCounters& k = fit.summary.precision.counters;
    CHECK(fit.summary.verdict == Verdict::converged);
    for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
      CHECK(std::fabs(fit.parameters[j] - f64.parameters[j]) <= 1e-3 * f64.standard_errors[j]);
      CHECK(fit.standard_errors[j] == doctest::Approx(f64.standard_errors[j]).epsilon(1e-6));
    }
    const std::string_view name = policy;
    const bool half = name == "bf16" || name.starts_with("residual") || (name == "auto" && kernels().bf16_instructions);
    CHECK((k.gram_flops_bf16 > 0) == half);
    CHECK((k.gram_flops_f16 > 0) == (name == "always_f16"));
    CHECK((k.rows_f32 > 0) == !name.starts_with("residual"));
    CHECK(k.gram_flops_f64 < f64.summary.precision.counters.gram_flops_f64);
  }
}

TEST_CASE("a rule and a strict policy act on such a fit") {
  const Peaks data(40000, 12);
  const FitResult ruled = data.fit("bf16; iteration >= 1 -> gram=f64");
  CHECK(ruled.success());
  bool by_rule = false;
  for (const IterationSummary& it : ruled.summary.iterations) by_rule = by_rule || it.event == Event::rule;
  CHECK(by_rule);
  CHECK(data.fit("strict").success());
}
