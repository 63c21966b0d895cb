// Solves a ceres::Problem with nlsq. A Ceres program changes one line:
//
//   nlsq::Solve(options, &problem, &summary);   // was ceres::Solve
//
// Accepts any ceres::Problem (Ceres 2.1 and 2.2): cost functions through their Evaluate in double, loss
// functions, manifolds and local parameterizations, constant blocks, bounds, ordering, callbacks, and the
// stop tests and limits of the options. Cost functions of type nlsq::AutoDiffCostFunction or
// nlsq::DynamicAutoDiffCostFunction are recorded and run many at a time. docs/from-ceres.md lists what maps
// to what. Link nlsq::ceres (component `ceres` of the CMake package).
#pragma once

#include <nlsq/ceres_autodiff.hpp>
#include <nlsq/ceres_dynamic_autodiff.hpp>
#include <nlsq/export.hpp>
#include <nlsq/summary.hpp>

#include <ceres/problem.h>
#include <ceres/solver.h>

#include <cstddef>

namespace nlsq::inline v0 {

// This is a function object, because the arguments of a call belong to Ceres. If nlsq::Solve were a function,
// argument-dependent look-up would also find ceres::Solve after `using nlsq::Solve;`, and the call would be
// ambiguous.
struct NLSQ_API SolveFunction {
  // Like ceres::Solve, writes the result to the parameter blocks. They keep their initial values after a
  // failure or when a callback aborts. `summary->message` lists options that have no counterpart here. Cases
  // that Ceres reports as FAILURE do not throw. Exceptions from user functions propagate, and the blocks keep
  // their initial values. CONVERGENCE means that a first-order test is certified or that one of the options'
  // tolerances was met, in f64. `summary` may be null. Throws ValidationError if `problem` is null.
  // ceres::Solve ends the program in either case.
  void operator()(const ceres::Solver::Options& options, ceres::Problem* problem,
                  ceres::Solver::Summary* summary) const;
  // Does the same with nlsq's summary: verdict, certificate, precision. Costs include residual blocks whose
  // parameters are all constant. Throws ValidationError if the options are not valid.
  void operator()(const ceres::Solver::Options& options, ceres::Problem* problem,
                  nlsq::Summary* summary) const;
  void operator()(const ceres::Solver::Options& options, ceres::Problem* problem, std::nullptr_t) const {
    (*this)(options, problem, static_cast<ceres::Solver::Summary*>(nullptr));
  }
};

inline constexpr SolveFunction Solve{};

// Judges the values in the problem's parameter blocks, for example after ceres::Solve, and makes no step:
//
//   nlsq::Certify(options, &problem, &summary);
//
struct NLSQ_API CertifyFunction {
  // CONVERGENCE means that a certificate in f64 shows that the values are a minimum. NO_CONVERGENCE means
  // that there is no certificate; `summary->message` contains the distance to the optimum. FAILURE means that
  // residuals do not exist there, a value lies outside its bounds, or the problem or the options are not
  // valid. The blocks do not change. Callbacks, limits and tolerances of the options have no effect;
  // num_threads, linear_solver_type and linear_solver_ordering do. Throws ValidationError if `problem` is
  // null.
  void operator()(const ceres::Solver::Options& options, ceres::Problem* problem,
                  ceres::Solver::Summary* summary) const;
  // Does the same with nlsq's summary: verdict and certificate. Throws ValidationError if the options are not
  // valid.
  void operator()(const ceres::Solver::Options& options, ceres::Problem* problem,
                  nlsq::Summary* summary) const;
};

inline constexpr CertifyFunction Certify{};

}  // namespace nlsq::inline v0
