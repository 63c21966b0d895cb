// Derivative rules of single operations, as graph nodes.
#pragma once

#include <nlsq/graph.hpp>

namespace nlsq::inline v0 {

// ∂node/∂operand: a factor, or what to divide by (1/x is kept as "divide by x": one rounding less).
struct Partial {
  NodeId node = 0;
  bool divides = false;
};

// The rule for operand `which` (0 or 1) of a function of one or two arguments. +, -, *, /, unary minus,
// select, min and max are not here: forward and adjoint forms write them out. Throws Error where the
// derivative is not an operation of the graph. `varies`: which nodes depend on a data column (at least
// up to `node`), as Graph::depends_on_columns gives it.
Partial partial_derivative(Graph& graph, NodeId node, int which, std::span<const std::uint8_t> varies);

}  // namespace nlsq::inline v0
