// Runs random block problems (random_blocks.hpp) by nlsq::solve(Problem) and nlsq::Solve. Every success must
// be true by long double, auto must lose nothing that all-f64 finds, and solves must end soon after they
// reach the minimum.
//
// NLSQ_TEST_BLOCK_SEEDS=first:count selects other seeds.
#include "run.hpp"  // first, because glog, which Ceres includes, has its own CHECK

#include "random_blocks.hpp"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

using namespace blocks;

namespace {

struct Tally {
  int solves = 0, success = 0, iterations = 0;
};

struct Seeds {
  std::uint64_t first = 0, count = 320;
};
Seeds seeds() {
  Seeds out;
  const char* const text = std::getenv("NLSQ_TEST_BLOCK_SEEDS");  // NOLINT(concurrency-mt-unsafe)
  if (text != nullptr) {
    const std::string all = text;
    const std::size_t colon = all.find(':');
    REQUIRE(colon != std::string::npos);
    out = {std::stoull(all.substr(0, colon)), std::stoull(all.substr(colon + 1))};
  }
  return out;
}

int steps(const Answer& answer) { return answer.summary.accepted + answer.summary.rejected; }

// Returns true if the answer is higher than f64's by more than rounding.
bool higher(const Scene& scene, const Answer& answer, const Answer& f64) {
  return answer.summary.final_cost > f64.summary.final_cost * (1 + 1e-6) + 1e-12 * scene.scale * scene.scale;
}

}  // namespace

TEST_CASE("Random block problems: no success is false, and auto loses nothing") {
  std::map<std::string, Tally> tallies;
  const Seeds range = seeds();
  for (std::uint64_t seed = range.first; seed < range.first + range.count; ++seed) {
    const Case c = random_case(seed);
    CAPTURE(c.family);
    CAPTURE(c.name);
    const Scene scene = c.make();
    for (const Way way : {Way::problem, Way::solve_default, Way::solve_tight, Way::solve_opaque}) {
      CAPTURE(name(way));
      Answer f64;
      for (const std::string policy : {"f64", "auto", "f32"}) {
        CAPTURE(policy);
        const Answer answer = solve(scene, way, policy);
        INFO(answer.summary.message);
        CHECK(answer.exception == "");
        CHECK(unsound(scene, answer) == "");
        if (answer.success()) CHECK(false_success(c.kind, answer, Oracle(scene).judge(answer.x)) == "");
        if (policy == "auto" && f64.success()) {
          CHECK(answer.success());
          CHECK_FALSE(higher(scene, answer, f64));
        }
        if (policy == "f64") f64 = answer;
        Tally& tally = tallies[policy];
        ++tally.solves;
        tally.success += answer.success();
        tally.iterations += answer.success() ? steps(answer) : 0;
      }
      if (way == Way::solve_default || way == Way::solve_tight)
        CHECK(false_convergence(scene, way, "auto") == "");
    }
  }
  for (const auto& [policy, t] : tallies) {
    fmt::print("{:<5} solves {}, successes {}, steps of a success {:.1f}\n", policy, t.solves, t.success,
               static_cast<double>(t.iterations) / t.success);
  }
}

// Here Gauss-Newton steps went to and fro between two points. The last bits decided whether they were
// accepted, until 1,000 iterations were over.
TEST_CASE("Where rounding decides about steps, a solve ends with its certificate") {
  for (const std::uint64_t seed : {135u, 503u, 647u, 1472u, 2279u, 2560u, 3671u, 3728u}) {
    const Case c = random_case(seed);
    CAPTURE(c.family);
    CAPTURE(c.name);
    const Answer answer = solve(c.make(), Way::problem, "f64");
    INFO(answer.summary.message);
    CHECK(answer.success());
    CHECK(steps(answer) < 150);
  }
}

// Here a parameter left the range in which the data depend on it. Its gradient and its second derivative were
// both tiny, so that Newton's step for it looked like the last one to a minimum, and the end was certified.
TEST_CASE("Second derivatives that rounding hides certify nothing") {
  for (const std::uint64_t seed : {5026u, 6706u, 6994u}) {
    const Case c = random_case(seed);
    CAPTURE(c.name);
    for (const Way way : {Way::problem, Way::solve_tight, Way::solve_opaque}) {
      CAPTURE(name(way));
      const Scene scene = c.make();
      const Answer answer = solve(scene, way, "f64");
      INFO(answer.summary.message);
      CHECK(false_success(c.kind, answer, Oracle(scene).judge(answer.x)) == "");
    }
  }
}
