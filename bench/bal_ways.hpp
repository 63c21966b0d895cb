// The ways of doing a whole bundle adjustment: a problem from observations, solved until its cost is low
// enough.
#pragma once

#include <bal.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace bench {

// Seconds from the beginning of the work, set-up included, and the lowest cost found by then.
using BalTrace = std::vector<std::pair<double, double>>;

struct BalRun {
  double cost = 0;
  int iterations = 0;
  std::string evaluator, steps;  // of ours: what ran, how steps were solved for
  std::size_t f32_blocks = 0;
  std::size_t counted = 0;  // bytes of ours, by its own count
  BalTrace trace;
};

// Names of what bal_run() knows: ours first, then Ceres's solvers, then nlsq::Solve. Those of peers that were
// not found are not among them.
std::vector<std::string> bal_ways();
bool is_ceres_way(const std::string& way);

// Stops at `target`, after three minutes at the latest; Ceres after 50 iterations, too. The scene's
// parameters are the start, and end as the result. Throws std::runtime_error for an unknown way.
BalRun bal_run(const std::string& way, bal::Problem& scene, int threads, double target);

}  // namespace bench
