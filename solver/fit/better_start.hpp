// Solves a curve from a start that is better than the given one.
#pragma once

#include "fit/curve.hpp"

#include <vector>

namespace nlsq::inline v0 {

// Improves the start of the request on a sample of the rows, for linear parameters and for losses that ignore
// far residuals, and solves from there. If that leads to no minimum, solves from the given start, too.
// `linear` are the positions of linear parameters among the free ones.
MinimizerResult solve_from_better_start(const Curve& curve, const std::vector<int>& linear,
                                        const SolveRequest& given, const SolveFunction& solve_from);

}  // namespace nlsq::inline v0
