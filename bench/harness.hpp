// Times several contenders on one task. They run alternately in one process, so that disturbances of the
// machine affect all of them, and their medians are compared. Every suite uses it.
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
  Clock clock = Clock::wall;  // cpu: processor time of the process, for busy machines with one thread
  int repeat = 5;             // rounds
  std::string bal_file;       // of suite bal; empty: generated problems
  std::vector<int> bal_size =
      {};  // of suite bal: cameras, points, observations of one generated problem; empty: small problems
  bool bal_scattered = false;  // any camera may see a point
  Machine machine;
  Report* report = nullptr;
};

struct Contender {
  std::string name;
  // Does the whole task from the same start. Returns the numbers to compare: the parameters, or sums.
  std::function<std::vector<double>()> run;
  // Returns the time of the last run by either clock, if another process runs the task. It is empty
  // otherwise.
  std::function<double(Clock)> seconds = {};
};

// Runs a part of a task that is too long and multiplies its time by `factor`.
Contender scaled(Contender part, double factor);
// Uses a worker that answers each line with "wall-seconds cpu-seconds numbers...". The numbers are compared.
Contender worker_contender(std::string name, std::shared_ptr<Worker> worker);
// Runs a program once per turn, timed from before its start to its end. `result` parses its output. Its `run`
// throws std::runtime_error if the exit status is not 0.
Contender program_contender(std::string name, std::vector<std::string> argv,
                            std::function<std::vector<double>(const std::string&)> result);

struct Measured {
  double seconds = kUnknown;  // median of a single run
  std::vector<double> result;
};

// Runs each contender once to warm up, then makes `repeat` rounds. The order of turns rotates by one place
// per round. A turn of a short run begins with one run that is not timed. A turn repeats runs that are
// shorter than `least_seconds`. Contenders whose runs take seconds get at most three turns. If a run takes
// many seconds, only its first one is made, and it counts.
std::vector<Measured> measure(const std::vector<Contender>& contenders, const Settings& settings,
                              double least_seconds = 2e-3);

// Adds one row for each contender after the first, which is nlsq. Every row starts as `make`: case, floor,
// note.
void report_against_peers(const std::vector<Contender>& contenders, const std::vector<Measured>& measured,
                          const Row& make, const Settings& settings);

}  // namespace bench
