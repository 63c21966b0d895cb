// What a graph is turned into before it is compiled: the same values to a rounding or two, in fewer
// instructions.
#pragma once

#include <nlsq/graph.hpp>

namespace nlsq::inline v0 {

// The same outputs in a graph of their own; `outputs` are renamed. u, v: no column enters them.
//   x/u = x*(1/u), 1/u once a pass; x/d and y/d share 1/d: a division takes as long as some sixteen products.
//     A divisor below 2^-1022 or so overflows where its quotient might not have.
//   u + (p + v*x) = p + (u + v*x): every product can become part of a sum.
//   u*(p*(v*x)) = p*((u*v)*x): one product less.
//   (b - a)*x = -((a - b)*x) where a - b is needed as well.
// Each costs half an ulp at most, the last nothing.
Graph rewrite(const Graph& graph, std::vector<NodeId>& outputs);

}  // namespace nlsq::inline v0
