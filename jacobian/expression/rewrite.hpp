// Rewrites a graph before compilation, so that it needs fewer instructions. Values change by at most a few
// roundings.
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

}  // namespace nlsq::inline v0
