// Builds derivatives of expressions as graph nodes. The first part has the rules for single operations. The
// functions at the end differentiate whole expressions by these rules (differentiate.cpp).
#pragma once

#include <nlsq/graph.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace nlsq::inline v0 {

// ∂node/∂operand: a factor, or a divisor. 1/x is kept as "divide by x", which rounds once less.
struct Partial {
  NodeId node = 0;
  bool divides = false;
};

// Tracks which nodes depend on a data column while derivatives are added to the graph.
class Variation {
 public:
  explicit Variation(const Graph& graph) : graph_(graph) {}
  bool operator()(NodeId id);

 private:
  const Graph& graph_;
  std::vector<std::uint8_t> flags_;
};

// Returns the rule for operand `which` (0 or 1) of a function of one or two arguments. It does not cover +,
// -, *, /, unary minus, select, min and max, which the forward and adjoint forms contain directly. Throws
// Error if the derivative is not an operation of the graph.
Partial partial_derivative(Graph& graph, NodeId node, int which, Variation& varies);

// This is one part of the relative change of a node f. The derivative by the operand is f * factor * growing.
// `growing` may become infinite where f * factor is 0, and the product is then 0; if it has no value, it
// counts as 1. `is_exponent` is true if f tends to a constant or to 0 exponentially where the operand becomes
// infinite, so that the derivative is 0 there.
struct RelativeChange {
  NodeId operand = 0, factor = 0;
  std::optional<NodeId> growing = {};
  bool is_exponent = false;
};

// Returns true if a node depends on a leaf by which derivatives are taken.
using IsActive = std::function<bool(NodeId)>;

// This is a factor or divisor of a product.
struct Factor {
  NodeId node;
  bool divides;
};

bool is_product(const Graph& graph, NodeId id);

// Adds those factors of the product `of` that are the same in every row to `out`. Returns false if one of the
// others is active, that is, if it depends on a leaf by which derivatives are taken.
bool add_factors(const Graph& graph, Factor of, Variation& varies, const IsActive& active,
                 std::vector<Factor>& out);

// Returns the parts for nodes whose usual derivative multiplies 0 by infinity. Such nodes are f = B^p where B
// is like b below, as in (1 + q e^(-kx))^(-1/nu), f = e^u where u has a term s e^v, as in exp(-b e^(-cx)),
// and f = B^p, sqrt(B) and cbrt(B) where B is a product that may be 0, as in (x/tau)^b. Returns nothing for
// all other nodes, for which the usual rule is right.
std::vector<RelativeChange> relative_changes(Graph& graph, NodeId f, Variation& varies,
                                             const IsActive& active);

// Returns the same for a denominator b. It may also be c + s e^u, c - s e^u or c + B^p with a constant c, a
// sum with another exponential, expm1(u), cosh(u), sinh(u), or a product of these and other factors. e^u may
// be v^u. Where b overflows, the quotient is 0, and so are its derivatives.
std::vector<RelativeChange> changes_of_denominator(Graph& graph, NodeId b, Variation& varies,
                                                   const IsActive& active);

// Returns true if the derivative of the node by its first operand is infinite where that operand is 0.
bool is_steep_at_zero(const Graph& graph, NodeId id);

// Returns true for a power of c - s e^u, s e^u - c, c + s v^u, expm1(u) or sinh(u) that may be 0 in some
// rows. There the usual rule is right. In all other rows relative_changes() is right, even where e^u
// overflows.
bool base_may_vanish(const Graph& graph, NodeId power, Variation& varies);

// Returns true if base_may_vanish(), or if the node is a power or a root of a product that may be 0 in some
// rows, is_steep_at_zero() holds, and relative_changes() returns nothing for it. The derivative of the base
// may be 0 as well, which only the tangents of the forward form show.
bool needs_tangents(const Graph& graph, NodeId id, Variation& varies, const IsActive& active);

// Returns w * growing. Where w is 0 the product is 0, even if `growing` is infinite.
NodeId product_with_growing(Graph& graph, NodeId w, NodeId growing);

// Returns the tangent of the argument u of an exponential such as e^u. Where u is infinite, it is 0, because
// e^u is 0 or constant there and falls faster than any power of u rises. It is not 0 if the parameters alone
// make it infinite, as 1/c at c = 0, which is the tangent of log(c): e^u may be a power of c.
NodeId tangent_of_exponent(Graph& graph, NodeId u, NodeId tangent, Variation& varies);

// Finds the operands u that may be infinite in some row, as -b/x is at x = 0, so that tangent_of_exponent()
// is needed. It is not right for e^(b log(x - t)), which is a power of x - t, so such u are not found.
class Growth {
 public:
  // Looks at the first `count` nodes.
  Growth(const Graph& graph, std::size_t count, Variation& varies, const IsActive& active);
  bool of(NodeId u) const { return u < grows_.size() && grows_[u] != 0; }
  // Returns true if the node is an exponential, or tends to a constant as fast as one, and of() holds for its
  // argument.
  bool saturates(const Graph& graph, NodeId id, Variation& varies) const;

 private:
  std::vector<std::uint8_t> grows_;
};

// Forms products and quotients of derivatives. Derivatives need not keep the user's order of operations, so
// they can be rearranged. `gather` groups factors that are the same in every row, u*(v*x) as (u*v)*x, and
// replaces division by such a factor with multiplication by its reciprocal.
class DerivativeProducts {
 public:
  DerivativeProducts(Graph& graph, Variation& varies, bool gather)
      : g_(graph), varies_(varies), gather_(gather) {}
  NodeId product(NodeId a, NodeId b) const;
  // `shared` is true if several tangents have the same divisor and share one reciprocal.
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

// Returns ∂root/∂leaf in forward form. `leaf` is a parameter or column node of `graph`.
NodeId derive_forward(Graph& graph, NodeId root, NodeId leaf);

// Returns the derivative of each root by each of the data columns. The result holds all derivatives of the
// first root, in the order of `columns`, then those of the second root, and so on. If the roots have little
// in common, each is differentiated by itself in its cheapest form. If they mostly share one expression, one
// pass over that expression serves them all.
std::vector<NodeId> differentiate_columns(Graph& graph, std::span<const NodeId> roots,
                                          std::span<const int> columns);

}  // namespace nlsq::inline v0
