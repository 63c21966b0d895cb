// Compares every policy with all of f64 on random problems. NLSQ_TEST_PROBLEMS sets how many, NLSQ_TEST_SEED
// which series, and NLSQ_TEST_SKIP where in it to begin. `nlsq-bench --suite random` prints the table for ten
// thousand.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <cstdlib>

#include "census.hpp"
#include "random_problems.hpp"

namespace {

std::uint64_t number(const char* variable, std::uint64_t fallback) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : fallback;
}

}  // namespace

TEST_CASE("random problems end under every policy as in f64, and no certificate is false") {
  const std::uint64_t count = number("NLSQ_TEST_PROBLEMS", 150), seed = number("NLSQ_TEST_SEED", 1),
                      skip = number("NLSQ_TEST_SKIP", 0);
  problems::Census census(problems::all_policies());
  for (std::uint64_t i = skip; i < skip + count; ++i) census.run(problems::random_problem(seed, i));
  for (const problems::Finding& f : census.findings) {
    fmt::print("{:<30} {:<30} {}: {}\n", f.problem, f.policy, f.what, name(f.cause));
    CAPTURE(f.problem);
    CAPTURE(f.policy);
    CAPTURE(f.what);
    CHECK(f.cause != problems::Cause::unexplained);
  }
  fmt::print("\n{}\n{}", shares(census), table(census));
  CHECK(census.f64.silent_wrong() == 0);
  for (const problems::Tally& t : census.tallies) {
    CAPTURE(t.policy);
    CHECK(t.silent_wrong() == 0);
    if (t.policy == "auto") {
      CHECK(t.count(problems::Outcome::worse_minimum) == 0);
      CHECK(t.count(problems::Outcome::lost) == 0);
    }
    CHECK(t.count(problems::Cause::unexplained) == 0);
    CHECK(t.count(problems::Outcome::lost) <= 0.01 * t.runs + 1);
    CHECK(t.count(problems::Outcome::worse_minimum) <= 0.01 * t.runs + 1);
  }
  if (count < 100) return;  // shares of so few mean nothing
  CHECK(census.ill_conditioned >= 0.3 * census.problems);
  CHECK(census.large >= 0.1 * census.problems);
}

TEST_CASE("a sample whose optimum is farther from that of all rows than chance explains is dropped") {
  // This is a wave on a parabola. The sample ended at another minimum, 46 standard errors away, and so did
  // the fit.
  const problems::Problem problem = problems::random_problem(1, 8219);
  const nlsq::FitResult fit = problems::fit(problem, "auto", {}), f64 = problems::fit(problem, "f64", {});
  CHECK(fit.success());
  CHECK(fit.summary.final_cost <= f64.summary.final_cost * (1 + 1e-9));
}

TEST_CASE("a path along which parameters run to 1e160 and back is reported without NaN") {
  // In these sums of peaks, some leave the data for a while. Squares of the scaled step and of the scaled
  // parameters overflowed, and the report's step was their ratio.
  for (const std::uint64_t i : {5613, 5649}) {
    const problems::Problem problem = problems::random_problem(1, i);
    for (const char* policy : {"f64", "auto"}) {
      const nlsq::FitResult fit = problems::fit(problem, policy, {});
      CAPTURE(problem.name);
      CAPTURE(policy);
      CHECK(problems::unsound_report(fit) == "");
      CHECK(fit.success());
    }
  }
}

// This is a decay far from the origin of x. Half a thousandth of a standard error beside its valley, the
// gradient is ten million times as long as at its bottom.
TEST_CASE("a curved valley is not taken for a kink") {
  const problems::Problem problem = problems::random_problem(1, 8757);
  for (const char* policy : {"f64", "auto"}) {
    CAPTURE(policy);
    CHECK(problems::false_certificate(problems::Reference(problem), problems::fit(problem, policy, {})) ==
          "");
  }
}
