// Solves one fit from several starts and collects the minima. curve_fit and least_squares use it.
#pragma once

#include "fit/solve.hpp"

#include <nlsq/summary.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Returns start k > 0 of `starts`; start 0 is x0. It is a point of a Latin hypercube and depends on the seed
// only. Between finite bounds it is uniform, or uniform in the logarithm if they are positive and far apart.
// Otherwise it follows a Cauchy distribution about x0: half of all starts lie within its own size.
std::vector<double> scattered_start(std::span<const double> x0, const Limits& limits, int k, int starts,
                                    std::uint64_t seed);

// Options of a multi-start fit.
struct StartsAsked {
  int starts = 1;  // including the request's x0
  std::uint64_t seed = 1;
  // Returns all parameters for given free ones.
  std::function<std::vector<double>(const Vector& x)> parameters;
};
struct StartsResult {
  MinimizerResult best;
  std::vector<FitMinimum> minima;  // `best` first
  std::string warning;             // set if a lower cost was found without a certificate
};
// Solves `request` from all starts. Time limits apply to all of them together. A callback that returns Stop
// ends them all.
StartsResult solve_from_starts(const StartsAsked& asked, const SolveRequest& request,
                               const SolveFunction& solve_one);

}  // namespace nlsq::inline v0
