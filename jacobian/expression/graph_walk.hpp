// Walks over the nodes of a graph. Operands have smaller ids than their node, so no walk needs recursion.
#pragma once

#include <nlsq/graph.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

// Lists the operands of a node, or of a step with the same members. There are as many as its operation has.
class Operands {
 public:
  explicit Operands(const auto& node) : ids_{node.a, node.b, node.c}, count_(arity(node.op)) {}
  const NodeId* begin() const { return ids_; }
  const NodeId* end() const { return ids_ + count_; }

 private:
  NodeId ids_[3];
  int count_;
};

// Marks, among the nodes 0 to `root`, the root and those from which it is computed.
std::vector<std::uint8_t> needed_for(const Graph& graph, NodeId root);

// Marks which of the first `count` nodes depend on one of the leaves.
std::vector<std::uint8_t> active_nodes(const Graph& graph, std::size_t count, std::span<const NodeId> leaves);

// For each leaf, the nodes among the first `count` that depend on it, ascending, including the leaf.
using Dependents = std::vector<std::vector<NodeId>>;

// Returns nothing if the lists would have more than `limit` entries in total. This bounds the work.
std::optional<Dependents> find_dependents(const Graph& graph, std::size_t count,
                                          std::span<const NodeId> leaves, std::size_t limit);

// Counts for each root the nodes from which it is computed, the root among them, and returns the sum of these
// counts. Stops above `limit`. `nodes` is a graph, or a list of steps with the members of a node.
std::size_t separate_nodes(const auto& nodes, std::span<const NodeId> roots, double limit) {
  std::vector<std::uint32_t> stamp(nodes.size(), 0);
  std::vector<NodeId> stack;
  std::size_t total = 0;
  const auto goes_on = [&] { return static_cast<double>(total) <= limit; };
  for (std::uint32_t r = 0; r < roots.size() && goes_on(); ++r) {
    const auto visit = [&](NodeId id) {
      if (std::exchange(stamp[id], r + 1) == r + 1) return;
      stack.push_back(id);
      ++total;
    };
    visit(roots[r]);
    while (!stack.empty() && goes_on()) {
      const Operands operands(nodes[stack.back()]);
      stack.pop_back();
      for (const NodeId operand : operands) visit(operand);
    }
    stack.clear();
  }
  return total;
}

// Builds a node of another graph, or a step with the members of a node, in `to`. here[k] is the id in `to` of
// node k.
NodeId rebuilt(Graph& to, const auto& node, const std::vector<NodeId>& here) {
  switch (node.op) {
    case Op::constant: return to.constant(node.value);
    case Op::column: return to.column(static_cast<int>(node.index));
    case Op::parameter: return to.parameter(static_cast<int>(node.index));
    default: return to.make(node.op, here[node.a], here[node.b], here[node.c]);
  }
}

// Computes the node `root`, and the nodes on which it depends, as numbers of any type. `leaf` returns the
// number of a column or parameter, and `apply` the result of an operation.
template <class T, class Leaf, class Apply>
T walk_graph(const Graph& graph, NodeId root, Leaf leaf, Apply apply) {
  const std::vector<std::uint8_t> needed = needed_for(graph, root);
  std::vector<T> values(root + 1);
  for (NodeId id = 0; id <= root; ++id) {
    if (!needed[id]) continue;
    const Node& node = graph[id];
    if (node.op == Op::constant) values[id] = T(node.value);
    else if (node.op == Op::column || node.op == Op::parameter) values[id] = leaf(node);
    else values[id] = apply(node.op, values[node.a], values[node.b], values[node.c]);
  }
  return values[root];
}

}  // namespace nlsq::inline v0
