// Finds ends of fits that are saddles. Symmetry may keep a fit on one: from b = 0 the gradient of a model of
// b² never leads away from b = 0, nor does that of a circle from the centre of a symmetric shape.
#pragma once

#include "fit/solve.hpp"

#include <optional>

namespace nlsq::inline v0 {

// What governs the end of a fit that may make no step from a saddle.
inline constexpr const char* kSaddle = "saddle";

// Whether a parameter that moved by `distance` since the start changed no residual by more than rounding, so
// that symmetry may have kept it where it is.
bool is_unmoved(double distance, const Linearization& end, std::size_t parameter);

// Looks for a point of lower cost beside a certified end that is a saddle. It does so only where a parameter
// has never moved. Returns nothing if it finds no such point: the end may then be a minimum.
std::optional<Vector> lower_beside_saddle(DenseEvaluator& evaluator, const SolveRequest& request,
                                          const MinimizerResult& end);

}  // namespace nlsq::inline v0
