// Where a fit ends without some parameter: does the model never determine it, or did the fit get lost?
#pragma once

#include "dense/dense_evaluator.hpp"
#include "fit/solve.hpp"
#include "minimizer/loop.hpp"

namespace nlsq::inline v0 {

// Whether the data determine more parameters at other points than at the end of a fit. Then the parameters
// that are not determined there are no property of the model: one ran off to where the rows see nothing of
// it, the fit began there, or the amplitude beside it vanished. Such an end is no minimum to be used. Asked
// only of an end whose rank is not full or whose residuals are rounding; false for others. Evaluates a part
// of the rows a few times.
bool lost_parameters(DenseEvaluator& evaluator, const SolveRequest& request, const MinimizerResult& end);

}  // namespace nlsq::inline v0
