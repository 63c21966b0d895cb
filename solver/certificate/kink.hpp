// Recognises minima at kinks. The slope of a broken line a + b*max(x-c, 0) jumps where c passes the x of a
// row, and that of an interpolated table where a row passes a point of the table. The minimum often lies
// exactly on such a kink. The gradient is not zero on either side of it, so no test of first order holds.
#pragma once

#include "fit/solve.hpp"

#include <optional>

namespace nlsq::inline v0 {

// What governs a certificate at a kink.
inline constexpr const char* kKink = "both sides of a kink";

// Asks whether a fit that made no further progress has ended at a kink, and certifies it if so. The distance
// to the optimum that the certificate then states includes the distance to the points beside x at which the
// gradient was evaluated; `gradient_norm` and `step` stay those of the gradient at x. Returns a point of
// lower cost if a way down along the kink was found instead: steps of the loop, which knows one gradient,
// lead across the kink and fail. This takes some passes over the rows.
std::optional<Vector> judge_at_kink(DenseEvaluator& evaluator, const SolveRequest& request,
                                    MinimizerResult& end);

// Certifies an end that may lie at a kink if it is within tau of the optimum by the linear model alone. The
// derivatives of a called function are differences, and where it has many kinks they have too few digits for
// the test of the last step's length.
void judge_by_distance(const SolveRequest& request, MinimizerResult& end);

}  // namespace nlsq::inline v0
