// Finds signs of parameters that do not change a model: h*exp(-(x-mu)^2/(2*sigma^2)) is the same curve for
// sigma and for -sigma. A minimizer may end at either; the fits report the one with the sign of the start.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/graph.hpp>

#include <functional>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// Returns true if `root` keeps its value, for all values of its arguments, when the parameters `flipped`
// change their signs together. This follows from the rules of the operations. An even expression may be
// missed (p^2/p*p), but an expression that is not even is never reported as even.
NLSQ_API bool is_even(const Graph& graph, NodeId root, std::span<const int> flipped);

// The function is_even() for one model.
using Evenness = std::function<bool(std::span<const int> flipped)>;

// Returns the parameters whose signs have to change so that `end` has the signs of `start`, as far as the
// model stays the same. A start of 0 counts as positive. Signs change for one parameter alone, or for two
// together. In such a pair, the second is linear and follows the first (a/sigma*exp(-(x-mu)^2/(2*sigma^2))),
// or both have the wrong sign. `free` lists the parameters that may change, and `linear` those among them
// that enter linearly. `start` and `end` have the values of all parameters.
NLSQ_API std::vector<int> signs_to_restore(const Evenness& is_even, std::span<const int> free,
                                           std::span<const int> linear, std::span<const double> start,
                                           std::span<const double> end);

}  // namespace nlsq::inline v0
