// Tells a minimum at which J alone is deficient from a point at which the cost is flat. The check for lost
// parameters uses it.
#pragma once

#include "dense/evaluator.hpp"
#include "minimizer/box.hpp"

#include <span>

namespace nlsq::inline v0 {

// True if the second derivatives of the cost, JᵀJ + Σ rᵢ∇²rᵢ, are positive along every direction of the
// parameters that are not in `fixed`, beyond the rounding errors of gradient and cost, and the minimum that
// they predict is x itself. Then x is a local minimum, and the cost determines these parameters although J
// does not. `magnitude`: ‖terms of r‖, which rounding errors scale with. Takes two passes for each parameter.
bool is_second_order_minimum(Evaluator& evaluator, std::span<const double> x, const Box& room,
                             std::span<const int> fixed, double magnitude);

}  // namespace nlsq::inline v0
