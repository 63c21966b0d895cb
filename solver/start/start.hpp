// Chooses the start of the iteration over all rows: solves for linear parameters and, with many rows, fits
// the nonlinear ones on samples. solve() uses it.
#pragma once

#include "dense/dense_evaluator.hpp"
#include "fit/solve.hpp"
#include "support/kept.hpp"

namespace nlsq::inline v0 {

struct Start {
  Vector x;
  Kept<Linearization> at;                    // of all rows at x, if a pass was made
  std::vector<IterationSummary> iterations;  // on samples
  std::vector<PrecisionIssue> issues;        // of those iterations
  std::vector<int> eliminated;               // linear parameters, while samples were fitted
  bool stop_asked = false;                   // by the callback, while samples were fitted
  bool from_samples = false;                 // x comes from samples that represent all rows
  KernelCounters counted;                    // before the passes over all rows
  double initial_cost = 0;                   // of all rows at x0
  bool initial_in_f64 = false;               // that cost; else in the first plan's precision
  Vector solved;                             // scratch
};

// Returns x0 with its linear parameters at their least-squares values within the limits, from about
// kStartRows of the rows. Returns x0 itself if there are none, or if they cannot be found.
inline constexpr std::size_t kStartRows = 1 << 14;
Vector linear_least_squares(RowModel& rows, const Vector& x0, const std::vector<int>& linear,
                            const Limits& limits = {});

// The functions below solve for the linear parameters of x, where `at` is the linearization
// (linear_start.cpp).
enum class Solved : std::uint8_t { well, doubtfully, not_at_all };
Solved solve_linear(const Linearization& at, const std::vector<int>& linear, Vector& x);
bool solve_linear_by_triangle(const Linearization& at, const std::vector<int>& linear, Vector& x);
bool solve_linear_within(const Linearization& at, const std::vector<int>& linear, const Limits& limits,
                         Vector& x);

// Fills `start`. Its memory is reused, and so is that of `other`, a pass that was not chosen.
void choose_start(DenseEvaluator& evaluator, const SolveRequest& request, Clock::time_point begin,
                  Start& start, Kept<Linearization>& other);

// Returns the number of rows of the first sample that choose_start() fits, if it contains the same
// information on each parameter at x as all rows. Returns 0 if it does not, or if samples do not pay.
std::size_t representative_rows(const SolveRequest& request, const Vector& x);

}  // namespace nlsq::inline v0
