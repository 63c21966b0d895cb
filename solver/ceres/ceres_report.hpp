// Fills Ceres's summaries from those of nlsq. ceres_solve.cpp uses it.
#pragma once

#include "ceres_problem.hpp"

#include <nlsq/problem_control.hpp>
#include <nlsq/summary.hpp>

#include <ceres/iteration_callback.h>
#include <ceres/solver.h>

#include <string>

namespace nlsq::inline v0 {

// `seconds` is the time since the start of Solve. Costs include that of constant residual blocks.
ceres::IterationSummary iteration_summary(const BlockStepReport& step, double fixed_cost, double seconds);
// Returns the line that minimizer_progress_to_stdout prints, with a heading before the first.
std::string progress_line(const ceres::IterationSummary& step);

// Fills the members that do not depend on the course of the solve.
void describe(ceres::Solver::Summary& out, const CeresProblem& problem,
              const ceres::Solver::Options& options);
// Fills counts, times and the solver used. The caller sets costs, termination and message.
void fill(ceres::Solver::Summary& out, const Summary& summary, const BlockSolveFacts& facts,
          const ceres::Solver::Options& options);

// Returns the summary of a problem that cannot be solved or certified.
Summary failed_summary(std::string message);

}  // namespace nlsq::inline v0
