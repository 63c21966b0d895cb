// Defines the expression graph. Every model becomes one, whether it was a formula or C++ code.
// Differentiation and the compiler of tile programs work on it.
//
//  Nodes are hash-consed: equal expressions are one node. So one table look-up finds a shared expression, and
//  two expressions are equal if their ids are. Operands have smaller ids than their node, so id order is a
//  topological order and no traversal needs recursion.
//
//  `make` simplifies while it builds. It folds constants. It reduces x+0, 1*x, 0+x, x-x and the like where
//  that is exact for every finite value, up to the sign of a zero. Integer powers and x^0.5 become products
//  and square roots; the compiler of programs does this for other half powers. Signs move outward in one
//  fixed way, so that -b*x, -(b*x) and (-b)*x are one node. Operands of + and * are ordered by their content,
//  not by the time they were built. A formula and a C++ callable with the same meaning therefore give the
//  same graph, and the same program to the last bit. x*0 becomes 0, which drops the NaN of 0*inf.
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
  NodeId a = 0, b = 0, c = 0;  // operand ids
  double value = 0;            // for constants (compared by bits: -0 and 0 differ)
};

class NLSQ_API Graph {
 public:
  NodeId constant(double value);
  NodeId column(int index);
  NodeId parameter(int index);
  NodeId unexplored();
  // Returns the simplified node, which is built if it does not exist.
  NodeId make(Op op, NodeId a, NodeId b = 0, NodeId c = 0);

  NodeId add(NodeId a, NodeId b) { return make(Op::add, a, b); }
  NodeId sub(NodeId a, NodeId b) { return make(Op::sub, a, b); }
  NodeId mul(NodeId a, NodeId b) { return make(Op::mul, a, b); }
  NodeId div(NodeId a, NodeId b) { return make(Op::div, a, b); }
  NodeId neg(NodeId a) { return make(Op::neg, a); }

  const Node& operator[](NodeId id) const { return nodes_[id]; }
  std::size_t size() const { return nodes_.size(); }
  bool is_constant(NodeId id, double value) const;

  // Copies the expressions `roots` of another graph without simplification. Returns their ids here. New nodes
  // are numbered depth first from the roots, so that the numbering depends only on structure.
  std::vector<NodeId> adopt(const Graph& from, std::span<const NodeId> roots);

  // These return one byte for each node: 1 if the node depends on a data column, or on a parameter.
  std::vector<std::uint8_t> depends_on_columns() const;
  std::vector<std::uint8_t> depends_on_parameters() const;
  std::vector<std::uint8_t> depends_on_parameter(int index) const;

 private:
  NodeId intern(const Node& node);
  std::uint64_t structure(const Node& node) const;
  void grow_table();
  bool in_order(NodeId a, NodeId b) const;
  // Each rule returns kNone if it does not apply to the node.
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
  std::vector<std::uint64_t> structure_;  // hash of each node's expression, independent of ids
  std::vector<NodeId> table_;  // open addressing by that hash; the size is a power of two, at most half full
};

// Returns ∂root/∂p_j for the parameters in `wrt`, in that order. Adds nodes to `graph`. Builds the forward
// and the adjoint form, in a copy, and keeps the one with fewer operations. A graph with `select` uses the
// forward form, because the adjoint form would multiply 0 by the value of the branch not taken. Terms that
// are identically 0 are left out, so 0*inf gives no NaN here, as it does with dual numbers. At special
// points: abs'(0) = 0; hypot' = 0 where both arguments are 0; d(a^b)/db = 0 where a = 0; min and max use the
// first argument at a tie; sign, floor, ceil and comparisons have derivative 0; sqrt'(0) is inf. Throws Error
// for trigamma, whose derivative is not an operation.
NLSQ_API std::vector<NodeId> differentiate(Graph& graph, NodeId root, std::span<const int> wrt);

// Returns ∂root/∂(data column).
NLSQ_API NodeId differentiate_column(Graph& graph, NodeId root, int column);

// Returns the parameters among `candidates` in which `root` is *jointly* linear. It takes candidates in
// order, as long as all mixed second derivatives within the set vanish identically. a*exp(-b*x)+c gives {a,
// c}; a*b*x gives {a}.
NLSQ_API std::vector<int> linear_parameters(const Graph& graph, NodeId root, std::span<const int> candidates);

// Returns the parameters among `candidates` on which `root` depends, although its derivative by them is 0
// everywhere. Such parameters only move the places of jumps, as t does in a+b*(x>t) and in floor(x/t).
NLSQ_API std::vector<int> jump_parameters(const Graph& graph, NodeId root, std::span<const int> candidates);

// Evaluates `root` in double by a direct traversal. It is slow and simple, and serves as the reference.
NLSQ_API double evaluate(const Graph& graph, NodeId root, std::span<const double> columns,
                         std::span<const double> parameters);

// Prints an expression with the given names. Where a name is missing, it writes p0, x0 and so on.
NLSQ_API std::string to_string(const Graph& graph, NodeId root, std::span<const std::string> parameters = {},
                               std::span<const std::string> columns = {});

}  // namespace nlsq::inline v0
