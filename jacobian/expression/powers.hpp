// Powers with small constant exponents, which run as products, square roots and a division.
//
// Integer powers and the square root take that form as soon as they are made. Other half powers,
// x^1.5 = x sqrt(x), stay powers until a program is compiled: the product's derivative would be
// 0*inf at x = 0, the power's is not.
#pragma once

#include <nlsq/graph.hpp>

namespace nlsq::inline v0 {

// An odd multiple of 1/2 no larger than 8.5.
bool is_half_power(double exponent) noexcept;

// What the product form of a half power costs (see op_cost).
double half_power_cost(double exponent) noexcept;

// The same outputs with half powers written out, in a graph of their own; `outputs` are renamed.
Graph expand_half_powers(const Graph& graph, std::vector<NodeId>& outputs);

}  // namespace nlsq::inline v0
