// Signs of parameters that a model cannot tell apart: h*exp(-(x-mu)^2/(2*sigma^2)) is the same curve for
// sigma and for -sigma. A minimizer may end at either; the fits report the one with the sign of the start.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/graph.hpp>

#include <functional>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// Whether `root` keeps its value, whatever its arguments are, when the parameters `flipped` change their
// signs together. It is read from the rules of the operations: an even expression can be missed (p^2/p*p),
// but no other is taken for one.
NLSQ_API bool is_even(const Graph& graph, NodeId root, std::span<const int> flipped);

// is_even() of a certain model.
using Evenness = std::function<bool(std::span<const int> flipped)>;

// The parameters whose signs have to change so that `end` has the signs of `start` wherever that leaves the
// model as it is. A start of 0 counts as positive. It changes one parameter alone, or two together: of a
// pair, the second is linear and follows the first (a/sigma*exp(-(x-mu)^2/(2*sigma^2))), or both have the
// wrong sign. `free`: the parameters that may change; `linear`: those among them that enter linearly. start
// and end have the values of all parameters.
NLSQ_API std::vector<int> signs_to_restore(const Evenness& is_even, std::span<const int> free,
                                           std::span<const int> linear, std::span<const double> start,
                                           std::span<const double> end);

}  // namespace nlsq::inline v0
