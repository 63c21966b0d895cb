// Runs the adversarial set with rows repeated to 2^18 and more. That is too many for the entry gate, so
// `auto` computes in f32. Also runs 2^25 identical rows, whose sums must not drift.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include "adversarial.hpp"
#include "comparison.hpp"
#include "noise.hpp"

namespace {

using problems::Outcome;
using problems::Problem;

constexpr std::size_t kRows = std::size_t{1} << 18;
constexpr double kMostPasses = 60;  // longer fits are run in test_adversarial.cpp
// `auto` passes the gate. The others have no gate, and each begins in another format.
constexpr const char* kPolicies[] = {"auto", "gram=f32,gate=off", "bf16", "aggressive,gate=off",
                                     "always_f16"};

bool has_one_of(const nlsq::FitResult& fit, const std::vector<nlsq::Event>& events) {
  return std::any_of(events.begin(), events.end(),
                     [&](nlsq::Event e) { return problems::has_event(fit, e); });
}

// Makes rows as they are read: all have the same x, and y alternates between level above and below.
class IdenticalRows final : public nlsq::RowSource {
 public:
  IdenticalRows(std::size_t rows, double x, double y, double level)
      : rows_(rows), x_(x), y_(y), level_(level) {}
  std::size_t rows() const override { return rows_; }
  int columns() const override { return 2; }
  void read(std::size_t first, std::size_t count, int column, double* out) const override {
    for (std::size_t i = 0; i < count; ++i)
      out[i] = column == 0 ? x_ : (first + i) % 2 == 0 ? y_ + level_ : y_ - level_;
  }

 private:
  std::size_t rows_;
  double x_, y_, level_;
};

}  // namespace

TEST_CASE("with rows repeated to 2^18, every policy computes in f32 or below, and ends as f64 does") {
  int cases = 0, with_f32 = 0, certified = 0, same = 0, failed = 0;
  for (const Problem& once : problems::adversarial()) {
    if (!once.repeatable || once.generator == 16) continue;  // NIST's sets have a test of their own
    const nlsq::FitResult small = problems::fit(once, "f64");
    const double passes =
        static_cast<double>(small.summary.precision.counters.rows_f64) / static_cast<double>(once.rows());
    if (passes > kMostPasses) continue;
    CAPTURE(once.name);
    const Problem many = problems::repeated(once, kRows);
    const double copies = static_cast<double>(many.rows()) / static_cast<double>(once.rows());
    const problems::Reference reference(once);
    const nlsq::FitResult f64 = problems::fit(many, "f64");
    ++cases;
    for (const char* policy : kPolicies) {
      CAPTURE(policy);
      const nlsq::FitResult fit = problems::fit(many, policy);
      const problems::Comparison compared = compare(many, fit, f64);
      const nlsq::KernelCounters& k = fit.summary.precision.counters;
      fmt::print("{:<50} {:<17} {:<14} {:<13} {:8.1e} f32 {:5.1f} f64 {:6.1f} {:6.3f} s\n", once.name, policy,
                 name(fit.summary.verdict), name(compared.outcome), compared.in_errors,
                 static_cast<double>(k.rows_f32) / static_cast<double>(many.rows()),
                 static_cast<double>(k.rows_f64) / static_cast<double>(many.rows()), fit.summary.time.total);
      CHECK(problems::unsound_report(fit) == "");
      CHECK(problems::false_certificate(reference, fit, copies) == "");
      CHECK(compared.outcome != Outcome::lost);
      CHECK(compared.outcome != Outcome::worse_minimum);
      with_f32 += k.rows_f32 > 0;
      certified += fit.success();
      same += compared.outcome == Outcome::same;
      failed += compared.outcome == Outcome::both_failed;
      if (once.double_only) CHECK(k.rows_f32 == 0);
      else if (std::string_view(policy) != "auto")
        CHECK(k.rows_f32 > 0);  // lines are still too cheap for f32
      // If a sample settles the fit, the event need not occur. J of 16 bits takes other paths.
      const bool f32 = policy == kPolicies[0] || policy == kPolicies[1];
      if (f32 && k.rows_f32 > 0 && !once.events.empty() && !has_one_of(fit, once.events)) {
        CHECK(static_cast<double>(k.rows_f64) < 4 * static_cast<double>(many.rows()));
      }
    }
  }
  fmt::print("{} cases, {} runs with f32 rows, {} certified, {} as f64, {} failed as f64 does\n", cases,
             with_f32, certified, same, failed);
  CHECK(cases >= 150);
  CHECK(with_f32 >= 0.9 * static_cast<double>(std::size(kPolicies)) *
                        cases);  // all but lines, and callables that take only double
}

TEST_CASE("2^25 rows of one x: sums keep their digits") {
  const auto rows = std::make_shared<IdenticalRows>(std::size_t{1} << 25, 0.7123456789,
                                                    std::exp(-1.1 * 0.7123456789), 1e-3);
  const nlsq::Formula formula = nlsq::parse_formula("exp(-b*x)");
  for (const char* policy : {"auto", "gram=f32", "f64"}) {
    CAPTURE(policy);
    nlsq::FitOptions options;
    options.precision = nlsq::PrecisionPolicy::parse(policy);
    const nlsq::FitResult fit = nlsq::curve_fit(formula, rows, {{"b", 1}}, options);
    CHECK(fit.success());
    CHECK(fit.parameters[0] == doctest::Approx(1.1).epsilon(1e-12));
    CHECK(fit.rss == doctest::Approx(0x1p25 * 1e-6).epsilon(1e-10));
    CHECK(problems::unsound_report(fit) == "");
    fmt::print("2^25 rows, {:<9} {} {:.2f} s\n", policy, fit.summary.brief_report(), fit.summary.time.total);
  }
}
