// Powers with small constant exponents, computed with products, square roots and a division.
//
//  Integer powers and the square root take that form when they are built. Other half powers, such as
//  x^1.5 = x sqrt(x), stay powers until a program is compiled: the derivative of the product would be 0*inf
//  at x = 0, and that of the power is not.
#pragma once

#include <nlsq/graph.hpp>

namespace nlsq::inline v0 {

// True for an odd multiple of 1/2 not larger than 8.5.
bool is_half_power(double exponent) noexcept;

// Cost of the product form of a half power (see op_cost).
double half_power_cost(double exponent) noexcept;

// Returns a new graph with the same outputs and half powers written out. Replaces `outputs` by their new ids.
Graph expand_half_powers(const Graph& graph, std::vector<NodeId>& outputs);

}  // namespace nlsq::inline v0
