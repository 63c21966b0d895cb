// Rewrites a graph before compilation: writes out half powers, and then needs fewer instructions. Values
// change by at most a few roundings.
#pragma once

#include <nlsq/graph.hpp>

namespace nlsq::inline v0 {

// Returns a new graph with the same outputs. Replaces `outputs` by their new ids. u and v depend on no
// column.
//    x/u = x*(1/u), with 1/u once per pass. x/d and y/d share 1/d, because a division takes as long as about
//      sixteen products. A divisor below about 2^-1022 overflows where its quotient might not have.
//    u + (p + v*x) = p + (u + v*x): every product can become part of a sum.
//    u*(p*(v*x)) = p*((u*v)*x): one product less.
//    (b - a)*x = -((a - b)*x) where a - b is needed too.
//  Each costs at most half an ulp; the last one is exact.
Graph rewrite(const Graph& graph, std::vector<NodeId>& outputs);

// Powers with small constant exponents, computed with products, square roots and a division.
//
//  Integer powers and the square root take that form when they are built. Other half powers, such as
//  x^1.5 = x sqrt(x), stay powers until a program is compiled: the derivative of the product would be 0*inf
//  at x = 0, and that of the power is not.

// True for an odd multiple of 1/2 not larger than 8.5.
bool is_half_power(double exponent) noexcept;

// Cost of the product form of a half power (see op_cost).
double half_power_cost(double exponent) noexcept;

// Returns a new graph with the same outputs and half powers written out. Replaces `outputs` by their new ids.
Graph expand_half_powers(const Graph& graph, std::vector<NodeId>& outputs);

}  // namespace nlsq::inline v0
