// Suite isa fits the curves under each set of kernels that this CPU can run. NLSQ_ISA is read once per
// process, so each set has a worker process.
#include "child_process.hpp"
#include "curves/curve_data.hpp"
#include "peers/peers.hpp"
#include "suites/suites.hpp"

#include <nlsq/nlsq.hpp>
#include "kernels/kernel_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

namespace {

nlsq::FitResult fit(const CurveCase& c, const Data& data) {
  nlsq::FitOptions options;
  options.threads = 1;
  return nlsq::curve_fit(curve_formula(c), data.x[0], data.y, named_start(c), options);
}

// Starts a worker that uses the kernels of `set`.
std::shared_ptr<Worker> worker_under(const char* set, const CurveCase& c, std::size_t rows) {
  const std::string program = program_directory() / "nlsq-bench";
  const auto worker = std::make_shared<Worker>(
      std::vector<std::string>{program, "--fits-of", c.model, "--rows", std::to_string(rows)},
      Environment{{"NLSQ_ISA", set}});
  const std::string runs = worker->read_line();
  if (runs != set)
    throw std::runtime_error(fmt::format("under NLSQ_ISA={} the kernels of {} run", set, runs));
  return worker;
}

void compare(const CurveCase& c, std::size_t rows, const Settings& settings) {
  const Data data = curve_data(c, rows);
  std::vector<Contender> contenders;
  const auto available = nlsq::available_kernels();
  for (auto set = available.rbegin(); set != available.rend(); ++set) {  // the best first
    contenders.push_back(worker_contender((*set)->name, worker_under((*set)->name, c, rows)));
  }
  const std::size_t sets = contenders.size();
  if (auto peer = cminpack_lmder({c.model, &data, c.start, 1e-10})) contenders.push_back(std::move(*peer));
  const std::vector<Measured> measured = measure(contenders, settings);
  const std::vector<double> errors = fit(c, data).standard_errors;
  for (std::size_t k = 0; k < sets; ++k) {
    double worst = 0;  // in standard errors
    for (std::size_t j = 0; j < errors.size(); ++j) {
      worst = std::max(worst, std::abs(measured[k].result[j] - measured[0].result[j]) / errors[j]);
    }
    Row row;
    row.suite = "isa";
    row.name = fmt::format("{}, {} rows, {}", c.model, count_name(rows), contenders[k].name);
    row.ours_s = measured[k].seconds;
    row.max_rel_diff = largest_difference(measured[k].result, measured[0].result);
    row.sound = row.max_rel_diff < 1e-8;
    row.note = fmt::format("{:.2f} x {}'s time; from its answer {:.1e} standard errors",
                           measured[k].seconds / measured[0].seconds, contenders[0].name, worst);
    if (sets < contenders.size()) {
      row.peer = contenders.back().name;
      row.peer_s = measured.back().seconds;
    }
    settings.report->add(row);
    if (k > 0) {
      settings.report->goal({"isa", fmt::format("{}: parameters from {}'s", row.name, contenders[0].name),
                             row.max_rel_diff, Asked::at_most, 1e-8, ""});
    }
  }
}

}  // namespace

void run_isa(const Settings& settings) {
  settings.report->begin_suite("isa",
                               "curves under each set of kernels, one thread, each in a process of its own; "
                               "max diff: from the answer of "
                               "the best\nset; goal: the same answers to rounding (1e-8)");
  for (const CurveCase& c : curve_cases()) compare(c, settings.quick ? 100'000 : 1'000'000, settings);
}

void answer_with_fits(const std::string& model, std::size_t rows) {
  const CurveCase& c = curve_case(model);
  const Data data = curve_data(c, rows);
  fmt::print("{}\n", nlsq::kernels().name);
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    const auto wall = std::chrono::steady_clock::now();
    const std::clock_t cpu = std::clock();
    const nlsq::FitResult found = fit(c, data);
    const double cpu_seconds = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
    const std::chrono::duration<double> wall_seconds = std::chrono::steady_clock::now() - wall;
    fmt::print("{} {}", wall_seconds.count(), cpu_seconds);
    for (const double value : found.parameters) fmt::print(" {:.17g}", found.success() ? value : kUnknown);
    fmt::print("\n");
    std::fflush(stdout);
  }
}

}  // namespace bench
