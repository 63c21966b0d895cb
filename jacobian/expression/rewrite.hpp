// Rewrites a graph before it is compiled: replaces half powers by products and square roots, and simplifies
// what then needs fewer instructions. Values change by at most a few roundings.
#pragma once

#include <nlsq/graph.hpp>

namespace nlsq::inline v0 {

// Marks the nodes whose operations must be rounded as the formula is written, because the result jumps where
// their values pass a number. For example, floor(x/49) is 1 at x = 49, but floor(x*(1/49)) is 0. The operands
// of floor, ceil, sign, remainders, comparisons, logic and conditions of selects are marked, and so is what
// they are computed from. A product is not marked if only its sign is needed, because rounding does not
// change that.
std::vector<std::uint8_t> exact_nodes(const Graph& graph);

// Returns a new graph with the same outputs. Replaces `outputs` by their new ids. u and v depend on no
// column.
//    x/u = x*(1/u), with 1/u once per pass. x/d and y/d share 1/d, because a division takes as long as about
//      sixteen products. A divisor below about 2^-1022 overflows where its quotient might not have.
//    u + (p + v*x) = p + (u + v*x): every product can become part of a sum.
//    u*(p*(v*x)) = p*((u*v)*x): one product less.
//    (b - a)*x = -((a - b)*x) where a - b is needed too.
//  Each costs at most half an ulp; the last one is exact. Where exact_nodes() says so, none is applied.
Graph rewrite(const Graph& graph, std::vector<NodeId>& outputs);

// A half power is a power whose exponent is an odd multiple of 1/2, such as x^1.5. It is cheaper as a
// product, here x sqrt(x). The graph keeps it as a power until a program is compiled, because the derivative
// of the product is 0*inf at x = 0, while the derivative of the power is finite there. Integer powers and
// square roots have no such problem. They become products and roots as soon as they are built.

// Returns true if the exponent is an odd multiple of 1/2 and at most 8.5 in size.
bool is_half_power(double exponent) noexcept;

// Returns the cost of a half power that is computed as a product (see op_cost).
double half_power_cost(double exponent) noexcept;

// Returns a new graph with the same outputs and half powers written out. Replaces `outputs` by their new ids.
Graph expand_half_powers(const Graph& graph, std::vector<NodeId>& outputs);

}  // namespace nlsq::inline v0
