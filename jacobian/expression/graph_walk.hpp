// Walks over the nodes of a graph. Operands have smaller ids than their node, so no walk needs recursion.
#pragma once

#include <nlsq/graph.hpp>

#include <cstdint>
#include <vector>

namespace nlsq::inline v0 {

// Marks, among the nodes 0 to `root`, those that `root` is computed from, and itself.
std::vector<std::uint8_t> needed_for(const Graph& graph, NodeId root);

// Builds a node of another graph in `to`. here[k] is the place in `to` of node k of the other graph.
NodeId rebuilt(Graph& to, const Node& node, const std::vector<NodeId>& here);

// Computes nodes 0 to `root` as numbers of any type, and returns that of `root`. `leaf` gives the number of a
// column or parameter, `apply` the result of an operation.
template <class T, class Leaf, class Apply>
T walk_graph(const Graph& graph, NodeId root, Leaf leaf, Apply apply) {
  std::vector<T> values(root + 1);
  for (NodeId id = 0; id <= root; ++id) {
    const Node& node = graph[id];
    if (node.op == Op::constant) values[id] = T(node.value);
    else if (node.op == Op::column || node.op == Op::parameter) values[id] = leaf(node);
    else values[id] = apply(node.op, values[node.a], values[node.b], values[node.c]);
  }
  return values[root];
}

}  // namespace nlsq::inline v0
