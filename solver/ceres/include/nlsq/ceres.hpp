// A Ceres program with one line changed:
//
//   nlsq::Solve(options, &problem, &summary);   // was ceres::Solve
//
// Takes any ceres::Problem (Ceres 2.1 and 2.2): cost functions by their Evaluate in double, loss functions,
// manifolds and local parameterizations, constant blocks, bounds, ordering, callbacks, stop tests and limits
// of the options. Cost functions that are nlsq::AutoDiffCostFunction or nlsq::DynamicAutoDiffCostFunction are
// recorded and run many at a time. docs/from-ceres.md says what maps to what. Link nlsq::ceres (component
// `ceres` of the CMake package).
#pragma once

#include <nlsq/ceres_autodiff.hpp>
#include <nlsq/ceres_dynamic_autodiff.hpp>
#include <nlsq/export.hpp>
#include <nlsq/summary.hpp>

#include <ceres/problem.h>
#include <ceres/solver.h>

#include <cstddef>

namespace nlsq::inline v0 {

// A class, since the arguments of a call are Ceres's: were nlsq::Solve a function, the compiler would find
// ceres::Solve beside it after `using nlsq::Solve;`, and call neither.
struct NLSQ_API SolveFunction {
  // As ceres::Solve: the result lies in the parameter blocks, which are as they were after a failure or where
  // a callback aborts. `summary->message` lists options that have no counterpart here. Nothing is thrown for
  // what Ceres reports as FAILURE; what a user's function throws passes through, and the blocks are as they
  // were. CONVERGENCE means that first order is certified or that one of the options' tolerances was met, in
  // f64. The summary may be null. A problem that is null is a ValidationError. ceres::Solve ends the program
  // for either.
  void operator()(const ceres::Solver::Options& options, ceres::Problem* problem,
                  ceres::Solver::Summary* summary) const;
  // The same in nlsq's words: verdict, certificate, precision. Costs include that of residual blocks whose
  // parameters are all constant. Options that are not valid are a ValidationError.
  void operator()(const ceres::Solver::Options& options, ceres::Problem* problem,
                  nlsq::Summary* summary) const;
  void operator()(const ceres::Solver::Options& options, ceres::Problem* problem, std::nullptr_t) const {
    (*this)(options, problem, static_cast<ceres::Solver::Summary*>(nullptr));
  }
};

inline constexpr SolveFunction Solve{};

}  // namespace nlsq::inline v0
