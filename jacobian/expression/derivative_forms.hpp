// Derivatives of an expression in forward form, shared by differentiate and linear_parameters.
#pragma once

#include <nlsq/graph.hpp>

namespace nlsq::inline v0 {

// ∂root/∂leaf for every leaf (a parameter or column node of `graph`), in forward form. `gather`: see
// DerivativeProducts.
std::vector<NodeId> derive_forward(Graph& graph, NodeId root, std::span<const NodeId> leaves,
                                   bool gather = false);

// ∂root/∂(data column), root by root, for every column of the list. Roots of their own are derived one by
// one, each in the cheapest of all forms; roots that are mostly one expression share a pass over it.
std::vector<NodeId> differentiate_columns(Graph& graph, std::span<const NodeId> roots,
                                          std::span<const int> columns);

}  // namespace nlsq::inline v0
