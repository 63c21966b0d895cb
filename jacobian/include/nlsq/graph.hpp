// The expression graph: what every model becomes, whichever way it was given.
//
// Nodes are hash-consed: two equal expressions are one node, so sharing costs a table look-up and
// equality is equality of ids. A node's operands always have smaller ids, so id order is a
// topological order and no walk needs recursion.
//
// `make` simplifies as it builds: constants fold; x+0, 1*x, 0+x, x-x ... collapse where that is
// exact for every finite value (up to the sign of a zero); integer powers and x^0.5 become products
// and square roots (other half powers when a program is compiled); signs move outward in one fixed
// manner, so that -b*x, -(b*x) and (-b)*x are one node. Operands of + and * are put in an order that
// depends on what they are, not on when they were built: a formula and a C++ callable that say the
// same thing become the same graph, and the same program to the last bit. x*0 is 0: what 0*inf would
// have been is dropped.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/op.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

using NodeId = std::uint32_t;

struct Node {
  Op op = Op::constant;
  std::uint32_t index = 0;     // column or parameter number, for those leaves
  NodeId a = 0, b = 0, c = 0;  // operands
  double value = 0;            // for constants (compared by bits: -0 and 0 differ)
};

class NLSQ_API Graph {
 public:
  NodeId constant(double value);
  NodeId column(int index);
  NodeId parameter(int index);
  NodeId unexplored();
  // Builds (or finds) the simplified node.
  NodeId make(Op op, NodeId a, NodeId b = 0, NodeId c = 0);

  NodeId add(NodeId a, NodeId b) { return make(Op::add, a, b); }
  NodeId sub(NodeId a, NodeId b) { return make(Op::sub, a, b); }
  NodeId mul(NodeId a, NodeId b) { return make(Op::mul, a, b); }
  NodeId div(NodeId a, NodeId b) { return make(Op::div, a, b); }
  NodeId neg(NodeId a) { return make(Op::neg, a); }

  const Node& operator[](NodeId id) const { return nodes_[id]; }
  std::size_t size() const { return nodes_.size(); }
  bool is_constant(NodeId id, double value) const;

  // Copies the expressions `roots` of another graph as they are; returns their ids here. New nodes
  // are numbered depth first from the roots: by structure alone.
  std::vector<NodeId> adopt(const Graph& from, std::span<const NodeId> roots);

  // Which nodes depend on a data column / on a parameter, one byte a node.
  std::vector<std::uint8_t> depends_on_columns() const;
  std::vector<std::uint8_t> depends_on_parameters() const;
  std::vector<std::uint8_t> depends_on_parameter(int index) const;

 private:
  NodeId intern(const Node& node);
  std::uint64_t structure(const Node& node) const;
  void grow_table();
  bool in_order(NodeId a, NodeId b) const;
  // Each returns kNone where its rules leave the node as it is.
  static constexpr NodeId kNone = static_cast<NodeId>(-1);
  NodeId fold(Op op, NodeId a, NodeId b, NodeId c);
  NodeId simplify_unary(Op op, NodeId a);
  NodeId simplify_add(NodeId a, NodeId b);
  NodeId simplify_sub(NodeId a, NodeId b);
  NodeId simplify_mul(NodeId a, NodeId b);
  NodeId simplify_div(NodeId a, NodeId b);
  NodeId simplify_pow(NodeId a, NodeId b);
  NodeId simplify_logic(Op op, NodeId a, NodeId b);
  NodeId simplify_select(NodeId condition, NodeId yes, NodeId no);
  NodeId select_inside(NodeId condition, NodeId yes, NodeId no);
  NodeId simplify(Op op, NodeId a, NodeId b, NodeId c);
  NodeId integer_power(NodeId base, int exponent);
  bool is_negative(NodeId id) const;
  NodeId without_sign(NodeId id);

  std::vector<Node> nodes_;
  std::vector<std::uint64_t> structure_;  // hash of what a node is, whatever its id
  std::vector<NodeId> table_;             // open addressing by that hash; a power of two, half full at most
};

// ∂root/∂p_j for the parameters in `wrt`, in that order; nodes are added to `graph`.
// Forward and adjoint forms are both built (in a copy) and the one with fewer operations is kept.
// A graph with `select` is derived forward: the adjoint would multiply 0 by what the branch not
// taken holds. The sparse adjoint drops dual numbers' 0*inf = NaN. At the special points: abs' (0) = 0;
// hypot' = 0 where both arguments are 0; d(a^b)/db = 0 where a = 0; min and max take the first
// argument's at a tie; sign, floor, ceil and comparisons have derivative 0; sqrt'(0) is inf.
// Throws Error for trigamma, whose derivative is not an operation.
NLSQ_API std::vector<NodeId> differentiate(Graph& graph, NodeId root, std::span<const int> wrt);

// ∂root/∂(data column).
NLSQ_API NodeId differentiate_column(Graph& graph, NodeId root, int column);

// The parameters among `candidates` that enter `root` linearly *together*: a largest set found
// greedily in order such that all mixed second derivatives within the set vanish identically.
// a*exp(-b*x)+c gives {a, c}; a*b*x gives {a}.
NLSQ_API std::vector<int> linear_parameters(const Graph& graph, NodeId root, std::span<const int> candidates);

// Value of `root` by a plain walk in double: the slow, obviously right evaluator.
NLSQ_API double evaluate(const Graph& graph, NodeId root, std::span<const double> columns,
                         std::span<const double> parameters);

// Text of an expression with the names given (p0, x0 ... where a name is missing).
NLSQ_API std::string to_string(const Graph& graph, NodeId root, std::span<const std::string> parameters = {},
                               std::span<const std::string> columns = {});

}  // namespace nlsq::inline v0
