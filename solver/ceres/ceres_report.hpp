// Ceres's summaries, filled from nlsq's.
#pragma once

#include "ceres_problem.hpp"

#include <nlsq/problem_control.hpp>
#include <nlsq/summary.hpp>

#include <ceres/iteration_callback.h>
#include <ceres/solver.h>

#include <string>

namespace nlsq::inline v0 {

// `seconds` since the start of it all; costs with that of constant residual blocks.
ceres::IterationSummary iteration_summary(const BlockStepReport& step, double fixed_cost, double seconds);
// The line that minimizer_progress_to_stdout prints for it, with a heading before the first.
std::string progress_line(const ceres::IterationSummary& step);

// Everything that does not depend on how the solve goes.
void describe(ceres::Solver::Summary& out, const CeresProblem& problem,
              const ceres::Solver::Options& options);
// What was done, and with which solver. Costs, termination and message are the caller's.
void fill(ceres::Solver::Summary& out, const Summary& summary, const BlockSolveFacts& facts,
          const ceres::Solver::Options& options);

}  // namespace nlsq::inline v0
