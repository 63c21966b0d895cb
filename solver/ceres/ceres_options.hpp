// Converts Ceres's options to nlsq's. ceres_solve.cpp uses it.
#pragma once

#include <nlsq/options.hpp>
#include <nlsq/problem_control.hpp>

#include <ceres/solver.h>

#include <string>

namespace nlsq::inline v0 {

// Returns true if the options request conjugate gradients.
bool iterative(const ceres::Solver::Options& options);
SolverOptions solver_options(const ceres::Solver::Options& options);
// Sets stop tests, step rules, and whether an iterative solver may be replaced. Sets no callbacks.
ProblemControl problem_control(const ceres::Solver::Options& options);
// Lists the options that differ from Ceres's default and have no effect here; "" if there are none.
std::string without_counterpart(const ceres::Solver::Options& options);

// Returns the fault that Ceres finds in the options, or reports a null callback, for which Ceres would end
// the program. Returns an empty text if there is none.
std::string fault_of(const ceres::Solver::Options& options);

}  // namespace nlsq::inline v0
