// One fit from several starts.
#pragma once

#include "fit/solve.hpp"

#include <nlsq/fit_minimum.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Start k > 0 of `starts`, for parameters that start 0 has at x0: a point of a Latin hypercube, by the seed
// alone. Between bounds that are finite on both sides uniformly, or, where they are positive and far apart,
// uniformly in the logarithm; else about x0 by Cauchy's distribution: half of all starts within once its
// size.
std::vector<double> scattered_start(std::span<const double> x0, const Limits& limits, int k, int starts,
                                    std::uint64_t seed);

// How a fit is started several times.
struct StartsAsked {
  int starts = 1;  // the request's x0, and others
  std::uint64_t seed = 1;
  // All parameters, of the free ones.
  std::function<std::vector<double>(const Vector& x)> parameters;
};
struct StartsResult {
  MinimizerResult best;
  std::vector<FitMinimum> minima;  // `best` first
  std::string warning;             // of a lower cost without a certificate; empty: none
};
// Solves `request` from all starts. Time limits are for all of them together; a callback that says Stop ends
// them all.
StartsResult solve_from_starts(const StartsAsked& asked, const SolveRequest& request,
                               const SolveFunction& solve_one);

}  // namespace nlsq::inline v0
