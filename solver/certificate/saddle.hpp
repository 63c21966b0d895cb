// Finds ends of fits that are saddles. Symmetry may keep a fit on one: from b = 0 the gradient of a model of
// b² never leads away from b = 0, nor does that of a circle from the centre of a symmetric shape.
#pragma once

#include "fit/solve.hpp"

#include <optional>

namespace nlsq::inline v0 {

// A point of lower cost beside a certified end that is no minimum. Looks for one only where some parameter
// has never moved, and where there are few. Nothing if the end may be a minimum.
std::optional<Vector> lower_beside_saddle(DenseEvaluator& evaluator, const SolveRequest& request,
                                          const MinimizerResult& end);

}  // namespace nlsq::inline v0
