#include "harness.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>

namespace bench {

namespace {

// Seconds since some fixed point.
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

constexpr double kSlow = 2;  // seconds a run, from which turns are few
constexpr int kSlowTurns = 3;

}  // namespace

std::vector<Measured> measure(const std::vector<Contender>& contenders, const Settings& settings,
                              double least_seconds) {
  const std::size_t count = contenders.size();
  const auto since = [&](double begin) { return now(settings.clock) - begin; };
  std::vector<Measured> measured(count);
  std::vector<int> inner(count, 1), turns(count, settings.repeat);
  std::vector<std::vector<double>> times(count);
  for (std::size_t k = 0; k < count; ++k) {
    double begin = now(settings.clock);
    measured[k].result = contenders[k].run();
    double once = since(begin);
    if (once < least_seconds) {  // the first run pays for cold caches: count by the second
      begin = now(settings.clock);
      contenders[k].run();
      once = since(begin);
    }
    inner[k] = std::max(1, static_cast<int>(std::ceil(least_seconds / std::max(once, 1e-7))));
    if (once > kSlow) turns[k] = std::min(turns[k], kSlowTurns);
  }
  for (int round = 0; round < settings.repeat; ++round) {
    for (std::size_t turn = 0; turn < count; ++turn) {
      const std::size_t k = (turn + static_cast<std::size_t>(round)) % count;
      if (round >= turns[k]) continue;
      const double begin = now(settings.clock);
      for (int i = 0; i < inner[k]; ++i) contenders[k].run();
      times[k].push_back(since(begin) / inner[k]);
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
