// Where the iteration over all rows starts: linear parameters solved for, and, where rows are many, the
// nonlinear ones brought close on samples of them (the scheduler's state P0).
#pragma once

#include "dense/dense_evaluator.hpp"
#include "fit/solve.hpp"
#include "support/kept.hpp"

namespace nlsq::inline v0 {

struct Start {
  Vector x;
  Kept<Linearization> at;                    // of all rows at x, where a pass was made
  std::vector<IterationSummary> iterations;  // on samples
  std::vector<PrecisionIssue> issues;        // of those
  std::vector<int> eliminated;               // linear parameters, while samples were fitted
  bool stop_asked = false;                   // by the callback, while samples were fitted
  bool from_samples = false;                 // that represent all rows
  KernelCounters counted;                    // before the passes over all rows
  double initial_cost = 0;                   // of all rows at x0, in the first plan's precision
  Vector solved;                             // scratch
};

// x0 with its linear parameters at their least-squares values within the limits, by about kStartRows of the
// rows; x0 where these give none.
inline constexpr std::size_t kStartRows = 1 << 14;
Vector linear_least_squares(RowModel& rows, const Vector& x0, const std::vector<int>& linear,
                            const Limits& limits = {});

// Iterations of a trace: its lines that are no promotion.
int steps_of(const std::vector<IterationSummary>& trace);

// Fills `start`, whose memory is used again; so is that of `other`, a pass that was not chosen.
void choose_start(DenseEvaluator& evaluator, const SolveRequest& request,
                  std::chrono::steady_clock::time_point begin, Start& start, Kept<Linearization>& other);

}  // namespace nlsq::inline v0
