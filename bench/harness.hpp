// Contenders for one piece of work, run alternately in one process so that the machine's moods fall on
// all of them; medians are compared.
#pragma once

#include "child_process.hpp"
#include "machine.hpp"
#include "report.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace bench {

enum class Clock { wall, cpu };

struct Settings {
  bool quick = false;
  Clock clock = Clock::wall;  // cpu: processor time of the process, for busy machines and one thread
  int repeat = 5;             // rounds
  std::string bal_file;       // of suite bal; empty: problems are made up
  std::vector<int> bal_size =
      {};  // of suite bal: cameras, points, observations of one that is made up; empty: small ones
  bool bal_scattered = false;  // each of its points is seen from anywhere
  Machine machine;
  Report* report = nullptr;
};

struct Contender {
  std::string name;
  // The whole work from the same start; returns what is compared: the parameters, or sums.
  std::function<std::vector<double>()> run;
  // Another process's: what its last run took by either clock, told or measured beside it. Else empty.
  std::function<double(Clock)> seconds = {};
};

// What is too much work in whole, done in part: its time is told `factor` times over.
Contender scaled(Contender part, double factor);
// A worker that answers each line with "wall-seconds cpu-seconds numbers...": the numbers are what is
// compared.
Contender worker_contender(std::string name, std::shared_ptr<Worker> worker);
// A program run once a turn, timed from before its start to its end; `result` reads what it wrote. Throws
// std::runtime_error, from `run`, where its exit status is not 0.
Contender program_contender(std::string name, std::vector<std::string> argv,
                            std::function<std::vector<double>(const std::string&)> result);

struct Measured {
  double seconds = kUnknown;  // median of a single run
  std::vector<double> result;
};

// One warm-up each, then `repeat` rounds, each contender's turn moving by one place a round. Runs
// shorter than `least_seconds` are repeated within a turn; contenders whose runs take seconds get at
// most three turns, those whose runs take many only one, the first.
std::vector<Measured> measure(const std::vector<Contender>& contenders, const Settings& settings,
                              double least_seconds = 2e-3);

// One row for each contender after the first, which is ours. `make` starts every row: case, floor, note.
void report_against_peers(const std::vector<Contender>& contenders, const std::vector<Measured>& measured,
                          const Row& make, const Settings& settings);

}  // namespace bench
