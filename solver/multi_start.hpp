// One fit from several starts.
#pragma once

#include "curve.hpp"

#include <cstdint>
#include <vector>

namespace nlsq::inline v0 {

// Start k > 0 of `starts`, for parameters that start 0 has at x0: a point of a Latin hypercube, by the seed alone. Between
// bounds that are finite on both sides uniformly, or, where they are positive and far apart, uniformly in the logarithm;
// else about x0 by Cauchy's distribution: half of all starts within once its size.
std::vector<double> scattered_start(std::span<const double> x0, const Limits& limits, int k, int starts, std::uint64_t seed);

// Solves `request` from its x0 and options.starts - 1 others, and lists all minima in `fit`. Time limits are for all of
// them together; a callback that says Stop ends them all.
MinimizerResult solve_from_starts(const Curve& curve, const SolveRequest& request, const SolveFunction& solve_one, FitResult& fit);

}  // namespace nlsq::inline v0
