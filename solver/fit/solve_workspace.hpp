// Memory that consecutive solves reuse. solve_in() and CurveWorker use it.
#pragma once

#include "minimizer/dense_system.hpp"
#include "minimizer/minimizer.hpp"
#include "start/start.hpp"

#include <vector>

namespace nlsq::inline v0 {

struct SolveWorkspace {
  Minimizer minimizer;
  DenseSystem system;
  Start start;
  Kept<Linearization> other;  // a pass that was not chosen
  MinimizerResult best, next;
  std::vector<IterationSummary> trace;
};

}  // namespace nlsq::inline v0
