// Derivatives of an expression in forward form. Differentiation and the search for linear parameters use it.
#pragma once

#include <nlsq/graph.hpp>

namespace nlsq::inline v0 {

// Returns ∂root/∂leaf in forward form for every leaf (a parameter or column node of `graph`). For `gather`
// see DerivativeProducts.
std::vector<NodeId> derive_forward(Graph& graph, NodeId root, std::span<const NodeId> leaves,
                                   bool gather = false);

// Returns ∂root/∂(data column), root by root, for every column of the list. Independent roots are derived one
// by one, each in the cheapest form; roots that mostly share one expression share a pass over it.
std::vector<NodeId> differentiate_columns(Graph& graph, std::span<const NodeId> roots,
                                          std::span<const int> columns);

}  // namespace nlsq::inline v0
