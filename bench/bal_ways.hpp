// Declares the solvers that suite bal compares. Each builds a bundle adjustment problem from observations and
// solves it until its cost is low enough.
#pragma once

#include <bal.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace bench {

// Pairs of seconds since the start, including set-up, and the lowest cost found by then.
using BalTrace = std::vector<std::pair<double, double>>;

struct BalRun {
  double cost = 0;
  int iterations = 0;
  std::string evaluator, steps;  // nlsq only: the evaluator, and the method of linear solution
  std::size_t f32_blocks = 0;
  std::size_t counted = 0;  // bytes used by nlsq, by its own count
  BalTrace trace;
};

// Returns the names that bal_run() accepts: nlsq first, then Ceres's solvers, then nlsq::Solve. Peers that
// were not found are left out.
std::vector<std::string> bal_ways();
bool is_ceres_way(const std::string& way);

// Runs one solver. It stops at `target`, or after three minutes; Ceres also stops after 50 iterations. The
// scene's parameters are the start, and hold the result on return. Throws std::runtime_error for an unknown
// name.
BalRun bal_run(const std::string& way, bal::Problem& scene, int threads, double target);

}  // namespace bench
