// The parts of certify(), for models of other kinds: judged(fit(..., without_steps(options))).
#pragma once

#include <nlsq/curve_fit.hpp>

namespace nlsq::inline v0 {

// The options of a fit that makes no step and is evaluated in f64; certify_problem.cpp: of a solve.
FitOptions without_steps(FitOptions options);
SolverOptions without_steps(SolverOptions options);
// Words the message of such a fit.
FitResult judged(FitResult fit);

}  // namespace nlsq::inline v0
