// Decides why a fit ends with undetermined parameters: the model never determines them, or the fit got lost.
// The fit uses it after a solve.
#pragma once

#include "dense/dense_evaluator.hpp"
#include "fit/solve.hpp"
#include "minimizer/loop.hpp"

namespace nlsq::inline v0 {

// True if the data determine more parameters at other points than at the end of a fit. Then the undetermined
// parameters are not undetermined by the model itself. A parameter moved to where no row depends on it, the
// fit began there, or the amplitude that multiplies it vanished. Such an end is not a usable minimum. False
// where second derivatives of the cost determine what J does not. Tests only ends of deficient rank or with
// residuals that are rounding, and returns false for others. Evaluates a sample of the rows a few times.
bool lost_parameters(DenseEvaluator& evaluator, const SolveRequest& request, const MinimizerResult& end);

}  // namespace nlsq::inline v0
