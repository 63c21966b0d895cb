// Contenders for one piece of work, run alternately in one process so that the machine's moods fall on
// all of them; medians are compared.
#pragma once

#include "machine.hpp"
#include "report.hpp"

#include <functional>
#include <string>
#include <vector>

namespace bench {

enum class Clock { wall, cpu };

struct Settings {
  bool quick = false;
  Clock clock = Clock::wall;  // cpu: processor time of the process, for busy machines and one thread
  int repeat = 5;             // rounds
  Machine machine;
  Report* report = nullptr;
};

struct Contender {
  std::string name;
  // The whole work from the same start; returns what is compared: the parameters, or sums.
  std::function<std::vector<double>()> run;
};

struct Measured {
  double seconds = kUnknown;  // median of a single run
  std::vector<double> result;
};

// One warm-up each, then `repeat` rounds, each contender's turn moving by one place a round. Runs
// shorter than `least_seconds` are repeated within a turn; contenders whose runs take seconds get at
// most three turns.
std::vector<Measured> measure(const std::vector<Contender>& contenders, const Settings& settings,
                              double least_seconds = 2e-3);

// One row for each contender after the first, which is ours. `make` starts every row: case, floor, note.
void report_against_peers(const std::vector<Contender>& contenders, const std::vector<Measured>& measured,
                          const Row& make, const Settings& settings);

}  // namespace bench
