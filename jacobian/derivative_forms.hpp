// Derivatives of an expression in forward form, shared by differentiate and linear_parameters.
#pragma once

#include <nlsq/graph.hpp>

namespace nlsq::inline v0 {

// ∂root/∂leaf for every leaf (a parameter or column node of `graph`), in forward form. `gather`: see
// DerivativeProducts.
std::vector<NodeId> derive_forward(Graph& graph, NodeId root, std::span<const NodeId> leaves,
                                   bool gather = false);

// ∂root/∂(data column) for every column of the list, derived together: the cheapest of all forms.
std::vector<NodeId> differentiate_columns(Graph& graph, NodeId root, std::span<const int> columns);

}  // namespace nlsq::inline v0
