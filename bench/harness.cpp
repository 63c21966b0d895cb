// Runs contenders alternately, times them, and reports medians.
#include "harness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace bench {

namespace {

// Returns the seconds since a fixed point.
double now(Clock clock) {
  timespec time{};
  clock_gettime(clock == Clock::cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

constexpr double kSlow = 2;  // seconds per run, above which fewer turns are made
constexpr int kSlowTurns = 3;
constexpr double kVerySlow = 8;  // seconds above which only the first run is made and counts
constexpr double kShort = 0.05;  // seconds below which a turn begins with a run that is not timed

double timed(const Contender& contender, Clock clock, std::vector<double>& result) {
  const double begin = now(clock);
  result = contender.run();
  return contender.seconds ? contender.seconds(clock) : now(clock) - begin;
}

// Returns the seconds of one run, averaged over `count` runs.
double timed(const Contender& contender, Clock clock, int count) {
  const double begin = now(clock);
  double told = 0;
  for (int i = 0; i < count; ++i) {
    contender.run();
    if (contender.seconds) told += contender.seconds(clock);
  }
  return (contender.seconds ? told : now(clock) - begin) / count;
}

}  // namespace

Contender scaled(Contender part, double factor) {
  struct Times {
    double wall = 0, cpu = 0;
  };
  const auto times = std::make_shared<Times>();
  const auto run = [run = std::move(part.run), times] {
    const double wall = now(Clock::wall), cpu = now(Clock::cpu);
    std::vector<double> result = run();
    times->wall = now(Clock::wall) - wall;
    times->cpu = now(Clock::cpu) - cpu;
    return result;
  };
  const auto seconds = [times, factor](Clock clock) {
    return factor * (clock == Clock::cpu ? times->cpu : times->wall);
  };
  return {fmt::format("{}, x{:.1f}", part.name, factor), run, seconds};
}

Contender worker_contender(std::string name, std::shared_ptr<Worker> worker) {
  struct Times {
    double wall = 0, cpu = 0;
  };
  const auto times = std::make_shared<Times>();
  const auto run = [worker = std::move(worker), times] {
    std::istringstream answer(worker->ask("run"));
    std::vector<double> result;
    answer >> times->wall >> times->cpu;
    for (std::string word; answer >> word;) result.push_back(std::strtod(word.c_str(), nullptr));
    return result;
  };
  return {std::move(name), run,
          [times](Clock clock) { return clock == Clock::cpu ? times->cpu : times->wall; }};
}

Contender program_contender(std::string name, std::vector<std::string> argv,
                            std::function<std::vector<double>(const std::string&)> result) {
  const auto last = std::make_shared<Finished>();
  const auto run = [name, argv = std::move(argv), result = std::move(result), last] {
    *last = run_program(argv);
    if (last->status != 0)
      throw std::runtime_error(fmt::format("{} ended with status {}", name, last->status));
    return result(last->text);
  };
  return {name, run, [last](Clock clock) { return clock == Clock::cpu ? last->cpu : last->wall; }};
}

std::vector<Measured> measure(const std::vector<Contender>& contenders, const Settings& settings,
                              double least_seconds) {
  const std::size_t count = contenders.size();
  std::vector<Measured> measured(count);
  std::vector<int> inner(count, 1), turns(count, settings.repeat);
  std::vector<bool> warmed(count, false);
  std::vector<std::vector<double>> times(count);
  for (std::size_t k = 0; k < count; ++k) {
    double once = timed(contenders[k], settings.clock, measured[k].result);
    if (once < least_seconds)
      once = timed(contenders[k], settings.clock, 1);  // the first run includes cold caches
    inner[k] = std::max(1, static_cast<int>(std::ceil(least_seconds / std::max(once, 1e-7))));
    warmed[k] = once < kShort;
    if (once > kSlow) turns[k] = std::min(turns[k], kSlowTurns);
    if (once > kVerySlow) turns[k] = 0, times[k].push_back(once);
  }
  for (int round = 0; round < settings.repeat; ++round) {
    for (std::size_t turn = 0; turn < count; ++turn) {
      const std::size_t k = (turn + static_cast<std::size_t>(round)) % count;
      if (round >= turns[k]) continue;
      // This run fills the caches with the contender's own data. Without it, the time would depend on the
      // contender that ran before.
      if (warmed[k]) contenders[k].run();
      times[k].push_back(timed(contenders[k], settings.clock, inner[k]));
    }
  }
  for (std::size_t k = 0; k < count; ++k) measured[k].seconds = median(times[k]);
  return measured;
}

void report_against_peers(const std::vector<Contender>& contenders, const std::vector<Measured>& measured,
                          const Row& make, const Settings& settings) {
  for (std::size_t k = 1; k < contenders.size(); ++k) {
    Row row = make;
    row.ours_s = measured[0].seconds;
    row.peer = contenders[k].name;
    row.peer_s = measured[k].seconds;
    row.max_rel_diff = largest_difference(measured[k].result, measured[0].result);
    settings.report->add(row);
  }
}

}  // namespace bench
