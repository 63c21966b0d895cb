// Derivative rules of single operations, as graph nodes.
#pragma once

#include <nlsq/graph.hpp>

namespace nlsq::inline v0 {

// ∂node/∂operand: a factor, or what to divide by (1/x is kept as "divide by x": one rounding less).
struct Partial {
  NodeId node = 0;
  bool divides = false;
};

// Which nodes depend on a data column, of a graph that grows while derivatives are built.
class Variation {
 public:
  explicit Variation(const Graph& graph) : graph_(graph) {}
  bool operator()(NodeId id);

 private:
  const Graph& graph_;
  std::vector<std::uint8_t> flags_;
};

// The rule for operand `which` (0 or 1) of a function of one or two arguments. +, -, *, /, unary minus,
// select, min and max are not here: forward and adjoint forms write them out. Throws Error where the
// derivative is not an operation of the graph.
Partial partial_derivative(Graph& graph, NodeId node, int which, Variation& varies);

// Products and quotients of derivatives. Their rounding is nobody's business but ours, so they may be
// arranged: `gather` keeps factors that are the same in every row together, u*(v*x) as (u*v)*x, and
// dividing by such a number is multiplying by its reciprocal.
class DerivativeProducts {
 public:
  DerivativeProducts(Graph& graph, Variation& varies, bool gather)
      : g_(graph), varies_(varies), gather_(gather) {}
  NodeId product(NodeId a, NodeId b) const;
  // `shared`: several tangents go through the same division; one reciprocal serves them all.
  NodeId quotient(NodeId t, NodeId d, bool shared) const;

 private:
  struct Factors {
    NodeId uniform, varying;
  };
  Factors split(NodeId id) const;

  Graph& g_;
  Variation& varies_;
  bool gather_;
};

}  // namespace nlsq::inline v0
