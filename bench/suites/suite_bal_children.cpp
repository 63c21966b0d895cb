// Runs suite bal with each solver in its own process, so that the system's count of memory is that of the
// solver.
#include "bal_ways.hpp"
#include "child_process.hpp"
#include "memory_use.hpp"
#include "suites/suite_bal.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

namespace {

constexpr double kSlack = 1e-6;  // relative to the target cost of all solvers
constexpr int kThreads = 2;
constexpr int kMostDense = 200;  // cameras; Ceres's dense factorisation takes too long above it
constexpr const char* kIterative = "Ceres ITERATIVE_SCHUR";
constexpr double kNever = -std::numeric_limits<double>::max();

bal::Problem scene_of(const Settings& settings) {
  if (settings.bal_size.empty()) return bal::read(settings.bal_file);
  const std::vector<int>& size = settings.bal_size;
  return bal::generate(size[0], size[1], static_cast<std::size_t>(size[2]), 1, 0.5, 0.01,
                       settings.bal_scattered);
}

std::string title_of(const Settings& settings) {
  if (settings.bal_size.empty()) return settings.bal_file.substr(settings.bal_file.find_last_of('/') + 1);
  const std::vector<int>& size = settings.bal_size;
  return fmt::format("{} cameras, {} points, {} observations{}", size[0], size[1], size[2],
                     settings.bal_scattered ? ", scattered" : "");
}

struct ChildRun {
  std::string way;
  double cost = 0, peak = kUnknown, beyond = kUnknown;  // bytes: of the process, and of the task alone
  int iterations = 0;
  std::string evaluator, steps;
  BalTrace trace;

  double seconds_to(double target) const {
    const auto reached =
        std::ranges::find_if(trace, [&](const auto& point) { return point.second <= target; });
    return reached == trace.end() ? kUnknown : reached->first;
  }
};

ChildRun ask_child(const std::string& way, double target, const Settings& settings) {
  std::vector<std::string> argv{program_directory() / "nlsq-bench", "--bal-way", way, "--bal-target",
                                fmt::format("{:.17g}", target)};
  if (settings.bal_size.empty()) {
    argv.insert(argv.end(), {"--bal", settings.bal_file});
  } else {
    argv.insert(argv.end(), {"--bal-size", fmt::format("{}", fmt::join(settings.bal_size, ","))});
    if (settings.bal_scattered) argv.emplace_back("--bal-scattered");
  }
  const Finished finished = run_program(argv);
  if (finished.status != 0)
    throw std::runtime_error(fmt::format("{} ended with status {}", way, finished.status));
  const nlohmann::json told = nlohmann::json::parse(finished.text);
  ChildRun run;
  run.way = way;
  run.cost = told["cost"];
  run.peak = told["peak"].is_null() ? kUnknown : told["peak"].get<double>();
  run.beyond = told["beyond"].is_null() ? kUnknown : told["beyond"].get<double>();
  run.iterations = told["iterations"];
  run.evaluator = told["evaluator"];
  run.steps = told["steps"];
  run.trace = told["trace"].get<BalTrace>();
  return run;
}

std::string memory_of(const ChildRun& run) {
  return fmt::format("{:.0f} MB, {:.0f} without program and data", 1e-6 * run.peak, 1e-6 * run.beyond);
}

void add_goals(const std::string& what, const std::vector<ChildRun>& peers, const ChildRun& ours,
               Report& report) {
  double leanest = std::numeric_limits<double>::infinity(), least_beyond = leanest;
  for (const ChildRun& peer : peers) {
    leanest = std::min(leanest, peer.peak);
    least_beyond = std::min(least_beyond, peer.beyond);
  }
  report.goal({"bal", fmt::format("{}: peak memory of {} over the leanest of Ceres's", what, ours.way),
               ours.peak / leanest, Asked::at_most, 0.5, "x"});
  report.goal({"bal", fmt::format("{}: the same without program and data", what), ours.beyond / least_beyond,
               Asked::at_most, 0.5, "x"});
}

}  // namespace

void compare_in_children(const Settings& settings) {
  const std::string what = fmt::format("{}, {} threads", title_of(settings), kThreads);
  const bool large = !settings.bal_size.empty() && settings.bal_size[0] > kMostDense;
  std::vector<ChildRun> peers, mine;
  double target = std::numeric_limits<double>::infinity();
  for (const std::string& way : bal_ways()) {
    if (!is_ceres_way(way) || way == kIterative || (large && way == "Ceres DENSE_SCHUR")) continue;
    peers.push_back(ask_child(way, kNever, settings));
    target = std::min(target, peers.back().cost);
  }
  target = peers.empty() ? kNever : target * (1 + kSlack);
  if (large && !peers.empty()) peers.push_back(ask_child(kIterative, target, settings));
  for (const std::string& way : bal_ways()) {
    if (!is_ceres_way(way)) mine.push_back(ask_child(way, target, settings));
  }
  for (const ChildRun& ours : mine) {
    settings.report->text(fmt::format("{}: {} to cost {:.6e}, {:.3g} s, {} iterations by {}, {}; peak {}",
                                      what, ours.way, ours.cost, ours.seconds_to(target), ours.iterations,
                                      ours.steps, ours.evaluator, memory_of(ours)));
  }
  for (const ChildRun& peer : peers) {
    Row row;
    row.suite = "bal";
    row.name = what;
    row.ours_s = mine[0].seconds_to(target);
    row.peer = peer.way;
    row.peer_s = peer.seconds_to(target);
    row.max_rel_diff = largest_difference({mine[0].cost}, {peer.cost});
    row.sound = mine[0].cost <= target && mine[0].evaluator == "graph";
    row.note = fmt::format("{} iterations, peak {}; to a cost of {:.6e}, one run", peer.iterations,
                           memory_of(peer), target);
    settings.report->add(row);
  }
  if (peers.empty()) return;
  for (const ChildRun& ours : mine) {
    if (ours.way == "nlsq" || ours.way == "nlsq::Solve, nlsq's cost functions")
      add_goals(what, peers, ours, *settings.report);
  }
}

void answer_with_bundle(const std::string& way, double target, const Settings& settings) {
  bal::Problem scene = scene_of(settings);
  BalRun run;
  const double beyond = memory_beyond([&] { run = bal_run(way, scene, kThreads, target); });
  const auto or_null = [](double v) { return v == v ? nlohmann::json(v) : nlohmann::json(nullptr); };
  const nlohmann::json told = {{"cost", run.cost},           {"iterations", run.iterations},
                               {"evaluator", run.evaluator}, {"steps", run.steps},
                               {"beyond", or_null(beyond)},  {"peak", or_null(peak_memory())},
                               {"trace", run.trace}};
  settings.report->text(told.dump());
}

}  // namespace bench
