// A Ceres program with one line changed:
//
//   nlsq::Solve(options, &problem, &summary);   // was ceres::Solve
//
// Takes any ceres::Problem (Ceres 2.1 and 2.2): cost functions by their Evaluate in double, loss functions, manifolds and
// local parameterizations, constant blocks, bounds, ordering, callbacks, stop tests and limits of the options. Cost
// functions that are nlsq::AutoDiffCostFunction or nlsq::DynamicAutoDiffCostFunction are recorded and run many at a time. docs/from-ceres.md says what maps to
// what. Link nlsq::ceres (component `ceres` of the CMake package).
#pragma once

#include <nlsq/ceres_autodiff.hpp>
#include <nlsq/ceres_dynamic_autodiff.hpp>
#include <nlsq/export.hpp>
#include <nlsq/summary.hpp>

#include <ceres/problem.h>
#include <ceres/solver.h>

namespace nlsq::inline v0 {

// As ceres::Solve: the result lies in the parameter blocks, which are as they were after a failure or where a callback
// aborts. `summary->message` lists options that have no counterpart here. Nothing is thrown for what Ceres reports as
// FAILURE; what a user's function throws passes through, and the blocks are as they were. The summary may be null.
NLSQ_API void Solve(const ceres::Solver::Options& options, ceres::Problem* problem, ceres::Solver::Summary* summary);
// The same, told in nlsq's words: verdict, certificate, precision. Costs include that of residual blocks whose
// parameters are all constant. Options that are not valid are a ValidationError.
NLSQ_API void Solve(const ceres::Solver::Options& options, ceres::Problem* problem, nlsq::Summary* summary);

}  // namespace nlsq::inline v0
