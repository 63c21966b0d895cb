// nlsq-bench: runs the suites and prints their tables and goals.
#include "peers/peers.hpp"
#include "suites/suite_bal.hpp"
#include "suites/suites.hpp"

#include <nlsq/version.hpp>
#include "kernels/kernel_table.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

struct Arguments {
  std::vector<std::string> suites;
  std::string json, goals, fits_of, bal, bal_way;
  std::vector<int> bal_size;
  bool bal_scattered = false;
  double bal_target = 0;
  std::size_t rows = 0;
  int repeat = 0;
  bool quick = false, list = false, cpu = false;
};

int list_suites() {
  for (const bench::Suite& suite : bench::kSuites) fmt::print("{:<10} {}\n", suite.name, suite.about);
  return 0;
}

int run(const Arguments& arguments) {
  bench::Report report(arguments.cpu ? "cpu" : "wall");
  bench::Settings settings;
  settings.quick = arguments.quick;
  settings.clock = arguments.cpu ? bench::Clock::cpu : bench::Clock::wall;
  settings.repeat = arguments.repeat > 0 ? arguments.repeat : arguments.quick ? 3 : 7;
  settings.bal_file = arguments.bal;
  settings.bal_size = arguments.bal_size;
  settings.bal_scattered = arguments.bal_scattered;
  settings.report = &report;
  if (!arguments.bal_way.empty())
    return bench::answer_with_bundle(arguments.bal_way, arguments.bal_target, settings), 0;
  settings.machine = bench::measure_machine();
  const bench::Machine& machine = settings.machine;
  fmt::print("nlsq {}, kernel {}; peers: {}\n", NLSQ_VERSION, nlsq::kernels().name, bench::peer_versions());
  fmt::print("one core at most ({}): {:.3g} Gflop/s f64, {:.3g} f32, reads {:.3g} GB/s, all cores {:.3g}\n",
             machine.isa, 2e-9 * machine.fma_f64, 2e-9 * machine.fma_f32, 1e-9 * machine.bandwidth,
             1e-9 * machine.bandwidth_all);
  fmt::print(
      "medians of {} runs, {}; ratio: peer's time over ours; max diff: of the parameters, relative; /floor: "
      "our time over\n"
      "the least one f64 pass over the rows could take (operations, or bytes from memory)\n",
      settings.repeat, arguments.cpu ? "processor time" : "wall time");
  for (const bench::Suite& suite : bench::kSuites) {
    const bool chosen =
        ((arguments.suites.empty() || arguments.suites[0] == "all") && !suite.on_request) ||
        std::find(arguments.suites.begin(), arguments.suites.end(), suite.name) != arguments.suites.end();
    if (chosen) suite.run(settings);
  }
  if (!report.goals().empty()) report.text("\n" + bench::goals_table(report.goals()));
  if (!arguments.json.empty()) report.write_json(arguments.json);
  if (!arguments.goals.empty()) report.write_goals(arguments.goals);
  if (report.sound()) return 0;
  fmt::print(stderr,
             "nlsq-bench: rows marked WRONG have an answer that is not certified or not the peers'\n");
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("nlsq-bench: times nlsq beside its peers. Exit status 1: an answer was wrong (never a time).");
  Arguments arguments;
  std::vector<std::string> names{"all"};
  for (const bench::Suite& suite : bench::kSuites) names.emplace_back(suite.name);
  app.add_option("--suite", arguments.suites, "suites to run; all where none is named")
      ->delimiter(',')
      ->check(CLI::IsMember(names));
  app.add_option("--json", arguments.json, "write the rows to FILE");
  app.add_option("--goals", arguments.goals, "write the goals, as printed at the end, to FILE");
  app.add_option("--repeat", arguments.repeat, "runs of each contender")->check(CLI::Range(1, 1000));
  app.add_option("--bal", arguments.bal,
                 "suite bal on FILE, in the form of examples/bal.hpp, instead of problems made up");
  app.add_option(
         "--bal-size", arguments.bal_size,
         "suite bal on one problem made up of so many cameras, points and observations: 500,200000,1000000")
      ->delimiter(',')
      ->expected(3)
      ->check(CLI::PositiveNumber)
      ->excludes("--bal");
  app.add_flag("--bal-scattered", arguments.bal_scattered,
               "with --bal-size: points are seen from anywhere, not from places next to each other");
  app.add_flag("--quick", arguments.quick, "fewer rows and runs");
  app.add_flag("--cpu-time", arguments.cpu,
               "processor time instead of wall time: for a busy machine, and one thread");
  app.add_flag("--list", arguments.list, "list the suites and end");
  // Internal options: suite isa starts this program with them under another instruction set.
  app.add_option("--fits-of", arguments.fits_of)->group("");
  app.add_option("--rows", arguments.rows)->group("");
  // Internal options: suite bal starts this program with them for one solver in its own process.
  app.add_option("--bal-way", arguments.bal_way)->group("");
  app.add_option("--bal-target", arguments.bal_target)->group("");
  CLI11_PARSE(app, argc, argv);
  try {
    if (!arguments.fits_of.empty()) return bench::answer_with_fits(arguments.fits_of, arguments.rows), 0;
    return arguments.list ? list_suites() : run(arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "nlsq-bench: {}\n", error.what());
    return 2;
  }
}
