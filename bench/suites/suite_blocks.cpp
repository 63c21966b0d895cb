// Suite blocks solves random block problems (tests/corpora/blocks/random_blocks.hpp) by nlsq::solve and by
// Ceres, both with one thread and tolerances so small that only a minimum meets them. An oracle in long
// double judges every claim.
#include "suites/suites.hpp"

#if NLSQ_BENCH_BLOCKS
#include "blocks/run.hpp"  // first: glog, of Ceres, has a CHECK of its own

#include "blocks/random_blocks.hpp"

#include <ceres/ceres.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

namespace bench {

namespace {

struct Outcome {
  bool claims = false;  // true if the solver claims to be at a minimum
  bool is_true = true;  // true if the oracle confirms the claim
  double cost = 0, seconds = 0;
  int steps = 0;
};

struct Count {
  int claimed = 0, wrong = 0, lower = 0, steps = 0;
  double seconds = 0;
  void add(const Outcome& o, bool below_other, bool same_minimum) {
    claimed += o.claims;
    wrong += o.claims && !o.is_true;
    lower += below_other;
    steps += same_minimum ? o.steps : 0;
    seconds += o.seconds;
  }
  std::string text() const {
    return fmt::format("{} claimed, {} wrong, {} lower, {} steps", claimed, wrong, lower, steps);
  }
};

double since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Outcome by_nlsq(const blocks::Case& c, const blocks::Scene& scene) {
  Outcome out;
  const auto begin = std::chrono::steady_clock::now();
  const blocks::Answer answer = blocks::solve(scene, blocks::Way::problem, "auto");
  out.seconds = since(begin);
  out.claims = answer.success();
  out.is_true = !out.claims || false_success(c.kind, answer, blocks::Oracle(scene).judge(answer.x)).empty();
  out.cost = scene.cost(answer.x);
  out.steps = answer.summary.accepted + answer.summary.rejected;
  return out;
}

Outcome by_ceres(const blocks::Scene& scene) {
  Outcome out;
  std::vector<double> x = scene.start();
  ceres::Solver::Options options;
  options.logging_type = ceres::SILENT;
  options.max_num_iterations = 1000;
  options.function_tolerance = options.gradient_tolerance = options.parameter_tolerance = 1e-15;
  ceres::Solver::Summary summary;
  const auto begin = std::chrono::steady_clock::now();
  ceres::Solve(options, scene.theirs(x.data(), true).get(), &summary);
  out.seconds = since(begin);
  out.claims = summary.termination_type == ceres::CONVERGENCE;
  out.is_true = !out.claims || blocks::Oracle(scene).judge(x).at_minimum();
  out.cost = scene.cost(x);
  out.steps = std::max(0, static_cast<int>(summary.iterations.size()) - 1);
  return out;
}

struct Family {
  std::string name;
  int problems = 0;
  Count ours, theirs;

  void add(const Family& other) {
    problems += other.problems;
    for (auto [to, from] : {std::pair{&ours, &other.ours}, std::pair{&theirs, &other.theirs}}) {
      to->claimed += from->claimed, to->wrong += from->wrong, to->lower += from->lower;
      to->steps += from->steps, to->seconds += from->seconds;
    }
  }
  Row row() const {
    Row row;
    row.suite = "blocks";
    row.name = fmt::format("{}, {} problems", name, problems);
    row.ours_s = ours.seconds;
    row.peer = "Ceres, tolerances 1e-15";
    row.peer_s = theirs.seconds;
    row.note = fmt::format("{}; Ceres {}", ours.text(), theirs.text());
    row.sound = ours.wrong == 0;
    return row;
  }
};

void compare(std::uint64_t seed, Family& family) {
  const blocks::Case c = blocks::random_case(seed);
  const blocks::Scene scene = c.make();
  family.name = c.family;
  ++family.problems;
  const Outcome ours = by_nlsq(c, scene), theirs = by_ceres(scene);
  const double same = 1e-4 * std::min(ours.cost, theirs.cost) + 1e-16 * scene.scale * scene.scale;
  const bool both = ours.claims && theirs.claims && std::fabs(ours.cost - theirs.cost) <= same;
  family.ours.add(ours, ours.cost < theirs.cost - same, both);
  family.theirs.add(theirs, theirs.cost < ours.cost - same, both);
}

}  // namespace

void run_blocks(const Settings& settings) {
  settings.report->begin_suite(
      "blocks",
      "random block problems, set-up included; times are sums of one run each; claimed: certified, or "
      "CONVERGENCE;\nwrong: claims that an oracle refutes; lower: ends below the other; steps: where both "
      "end "
      "in the same minimum");
  const std::size_t each = settings.quick ? 20 : 250;
  Family all;
  all.name = "all";
  for (std::size_t f = 0; f < blocks::kFamilies; ++f) {
    Family family;
    for (std::size_t k = 0; k < each; ++k) compare(f + k * blocks::kFamilies, family);
    all.add(family);
    settings.report->add(family.row());
  }
  settings.report->add(all.row());
  settings.report->goal({"blocks", "claims of nlsq that are wrong", static_cast<double>(all.ours.wrong),
                         Asked::at_most, 0, ""});
  settings.report->goal({"blocks", "steps over Ceres's, to the same minimum",
                         static_cast<double>(all.ours.steps) / all.theirs.steps, Asked::at_most, 1, "x"});
}

}  // namespace bench

#else

namespace bench {
void run_blocks(const Settings& settings) {
  settings.report->begin_suite("blocks", "built without Ceres: nothing to compare");
}
}  // namespace bench

#endif
