// Ceres's options in nlsq's, and what has no counterpart.
#pragma once

#include <nlsq/options.hpp>
#include <nlsq/problem_control.hpp>

#include <ceres/solver.h>

#include <string>

namespace nlsq::inline v0 {

// Conjugate gradients were named.
bool iterative(const ceres::Solver::Options& options);
SolverOptions solver_options(const ceres::Solver::Options& options);
// Stop tests and the rules of steps, and whether an iterative solver may be replaced; nothing that is called.
ProblemControl problem_control(const ceres::Solver::Options& options);
// The options, set to something other than Ceres's default, that nothing here answers to; "" where there is
// none.
std::string without_counterpart(const ceres::Solver::Options& options);

}  // namespace nlsq::inline v0
