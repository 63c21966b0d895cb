// Suite bal times bundle adjustment from one start to one cost, by nlsq::Problem and by Ceres with the same
// functor.
#include "suites/suite_bal.hpp"
#include "bal_ways.hpp"
#include "suites/suites.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace {

constexpr double kSlack = 1e-9;  // relative to the target cost
constexpr double kNever = -std::numeric_limits<double>::infinity();

// Runs the solvers alternately in this process. Ceres runs 50 iterations, and nlsq stops at the cost that
// Ceres reached.
void compare(const std::string& name, const bal::Problem& scene, int threads, const Settings& settings) {
  std::vector<std::string> ways = bal_ways();
  for (const char* slow : {"Ceres ITERATIVE_SCHUR", "nlsq factored", "nlsq iterative"})
    std::erase(ways, slow);  // on large problems
  const auto first_peer = std::ranges::find_if(ways, is_ceres_way);
  const std::string reference = first_peer == ways.end() ? "nlsq f64" : *first_peer;
  const auto solve = [&](const std::string& way, double target) {
    bal::Problem mine = scene;
    return bal_run(way, mine, threads, target);
  };
  const double target = solve(reference, kNever).cost * (1 + kSlack);
  std::vector<BalRun> last(ways.size());
  std::vector<Contender> contenders;
  for (std::size_t k = 0; k < ways.size(); ++k) {
    contenders.push_back({ways[k], [&, k] {
                            last[k] = solve(ways[k], is_ceres_way(ways[k]) ? kNever : target);
                            return std::vector{last[k].cost};
                          }});
  }
  const std::vector<Measured> measured = measure(contenders, settings);
  const std::string what = fmt::format("{}, {} thread{}", name, threads, threads == 1 ? "" : "s");
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t k = 1; k < ways.size(); ++k) {
    Row row;
    row.suite = "bal";
    row.name = what;
    row.ours_s = measured[0].seconds;
    row.peer = ways[k];
    row.peer_s = measured[k].seconds;
    row.max_rel_diff = largest_difference(measured[0].result, measured[k].result);
    row.sound = last[0].cost <= target && last[0].evaluator == "graph";
    row.note =
        fmt::format("{} iterations, f32 evaluated {} blocks, {:.0f} MB; difference: of the cost",
                    last[0].iterations, last[0].f32_blocks, 1e-6 * static_cast<double>(last[0].counted));
    if (is_ceres_way(ways[k])) best = std::min(best, measured[k].seconds);
    settings.report->add(row);
  }
  if (!(best < std::numeric_limits<double>::infinity())) return;
  settings.report->goal({"bal", fmt::format("{}: time of Ceres's better solver over ours", what),
                         best / measured[0].seconds, Asked::at_least, 8, "x"});
  for (std::size_t k = 1; k < ways.size(); ++k) {
    if (ways[k] == "nlsq::Solve, nlsq's cost functions") {
      settings.report->goal(
          {"bal",
           fmt::format("{}: Ceres's over nlsq::Solve's with nlsq::AutoDiffCostFunction, all {}", what,
                       last[k].evaluator),
           best / measured[k].seconds, Asked::at_least, 8, "x"});
    } else if (ways[k] == "nlsq::Solve, Ceres's cost functions") {
      settings.report->goal(
          {"bal", fmt::format("{}: Ceres's over nlsq::Solve's with Ceres's own cost functions", what),
           best / measured[k].seconds, Asked::at_least, 3, "x"});
    }
  }
}

}  // namespace

void run_bal(const Settings& settings) {
  settings.report->begin_suite(
      "bal",
      "bundle adjustment from the same start to the cost that Ceres has after 50 iterations, set-up "
      "included; goal: 8 times the\nbetter of Ceres's two Schur solvers, half its memory");
  if (!settings.bal_size.empty()) return compare_in_children(settings);
  if (!settings.bal_file.empty()) {
    compare(settings.bal_file.substr(settings.bal_file.find_last_of('/') + 1), bal::read(settings.bal_file),
            2, settings);
    return compare_in_children(settings);
  }
  compare("49 cameras, 31843 observations", bal::generate(49, 7776, 31843, 1), 2, settings);
  if (!settings.quick)
    compare("200 cameras, 200000 observations", bal::generate(200, 50000, 200000, 1), 2, settings);
}

}  // namespace bench
