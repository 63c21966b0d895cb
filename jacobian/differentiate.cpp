// Symbolic derivatives. Forward: a tangent for every node and parameter, from the leaves up.
// Adjoint: one derivative of the root for every node, from the root down (Griewank and Walther,
// Evaluating Derivatives, chapter 3). Both visit only nodes that depend on a wanted leaf.
#include "derivative_forms.hpp"
#include "partials.hpp"

#include <nlsq/tile_program.hpp>

#include <algorithm>

namespace nlsq::inline v0 {

namespace {

// Which of the first `count` nodes depend on one of the leaves.
std::vector<std::uint8_t> active_nodes(const Graph& graph, std::size_t count, std::span<const NodeId> leaves) {
  std::vector<std::uint8_t> active(count, 0);
  for (const NodeId leaf : leaves) {
    if (leaf < count) active[leaf] = 1;
  }
  for (NodeId id = 0; id < count; ++id) {
    const Node& node = graph[id];
    const NodeId operands[] = {node.a, node.b, node.c};
    for (int i = 0; i < arity(node.op); ++i) active[id] |= active[operands[i]];
  }
  return active;
}

// t/d; where several tangents go through the same division, one reciprocal serves them all.
NodeId divided(Graph& graph, NodeId t, NodeId d, bool shared) {
  if (graph.is_constant(t, 0)) return t;
  return shared ? graph.mul(t, graph.div(graph.constant(1), d)) : graph.div(t, d);
}

class Forward {
 public:
  Forward(Graph& graph, NodeId root, std::span<const NodeId> leaves)
      : g_(graph), root_(root), varies_(graph.depends_on_columns()),
        zero_(graph.constant(0)), tangents_(root + 1, zero_), seen_(root + 1, 0) {
    for (const NodeId leaf : leaves) {
      const auto active = active_nodes(g_, root + 1, std::span(&leaf, 1));
      for (NodeId id = 0; id <= root; ++id) seen_[id] += active[id];
    }
  }

  NodeId derive(NodeId leaf) {
    if (leaf > root_) return zero_;
    const auto active = active_nodes(g_, root_ + 1, std::span(&leaf, 1));
    for (NodeId id = 0; id <= root_; ++id) tangents_[id] = active[id] ? tangent(id, leaf) : zero_;
    return tangents_[root_];
  }

 private:
  NodeId tangent(NodeId id, NodeId leaf) {
    if (id == leaf) return g_.constant(1);
    const Node f = g_[id];
    const bool shared = seen_[id] > 1;
    const NodeId da = tangents_[f.a], db = tangents_[f.b], dc = tangents_[f.c];
    switch (f.op) {
      case Op::add: return g_.add(da, db);
      case Op::sub: return g_.sub(da, db);
      case Op::neg: return g_.neg(da);
      case Op::mul: return g_.add(g_.mul(da, f.b), g_.mul(f.a, db));
      case Op::div: return divided(g_, g_.sub(da, g_.mul(id, db)), f.b, shared);
      case Op::select: return g_.make(Op::select, f.a, db, dc);
      case Op::min: return g_.make(Op::select, g_.make(Op::less, f.b, f.a), db, da);
      case Op::max: return g_.make(Op::select, g_.make(Op::less, f.a, f.b), db, da);
      default: break;
    }
    NodeId sum = zero_;
    const NodeId tangents[] = {da, db};
    for (int i = 0; i < arity(f.op); ++i) {
      if (tangents[i] == zero_) continue;
      const Partial partial = partial_derivative(g_, id, i, varies_);
      sum = g_.add(sum, partial.divides ? divided(g_, tangents[i], partial.node, shared)
                                        : g_.mul(tangents[i], partial.node));
    }
    return sum;
  }

  Graph& g_;
  NodeId root_;
  std::vector<std::uint8_t> varies_;
  NodeId zero_;
  std::vector<NodeId> tangents_;
  std::vector<std::uint32_t> seen_;  // how many of the leaves a node depends on
};

class Adjoint {
 public:
  Adjoint(Graph& graph, NodeId root, std::span<const NodeId> leaves)
      : g_(graph), active_(active_nodes(graph, root + 1, leaves)), varies_(graph.depends_on_columns()),
        zero_(graph.constant(0)), adjoints_(root + 1, zero_) {
    adjoints_[root] = g_.constant(1);
    for (NodeId id = root + 1; id-- > 0;) {
      if (active_[id] && adjoints_[id] != zero_) pass_down(id, adjoints_[id]);
    }
  }
  NodeId of(NodeId leaf) const { return leaf < adjoints_.size() ? adjoints_[leaf] : zero_; }

 private:
  void give(NodeId operand, NodeId contribution) {
    adjoints_[operand] = g_.add(adjoints_[operand], contribution);
  }

  void pass_down(NodeId id, NodeId bar) {
    const Node f = g_[id];
    const bool to_a = arity(f.op) > 0 && active_[f.a], to_b = arity(f.op) > 1 && active_[f.b];
    switch (f.op) {
      case Op::add:
        if (to_a) give(f.a, bar);
        if (to_b) give(f.b, bar);
        return;
      case Op::sub:
        if (to_a) give(f.a, bar);
        if (to_b) give(f.b, g_.neg(bar));
        return;
      case Op::neg: give(f.a, g_.neg(bar)); return;
      case Op::mul:
        if (to_a) give(f.a, g_.mul(bar, f.b));
        if (to_b) give(f.b, g_.mul(bar, f.a));
        return;
      case Op::div: {
        const NodeId share = g_.div(bar, f.b);
        if (to_a) give(f.a, share);
        if (to_b) give(f.b, g_.neg(g_.mul(share, id)));
        return;
      }
      default: break;
    }
    const NodeId operands[] = {f.a, f.b};
    const bool wanted[] = {to_a, to_b};
    for (int i = 0; i < arity(f.op); ++i) {
      if (!wanted[i]) continue;
      const Partial partial = partial_derivative(g_, id, i, varies_);
      give(operands[i], partial.divides ? g_.div(bar, partial.node) : g_.mul(bar, partial.node));
    }
  }

  Graph& g_;
  std::vector<std::uint8_t> active_, varies_;
  NodeId zero_;
  std::vector<NodeId> adjoints_;
};

std::vector<NodeId> derive_adjoint(Graph& graph, NodeId root, std::span<const NodeId> leaves) {
  const Adjoint adjoint(graph, root, leaves);
  std::vector<NodeId> result;
  for (const NodeId leaf : leaves) result.push_back(adjoint.of(leaf));
  return result;
}

bool has_branches(const Graph& graph) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Op op = graph[id].op;
    if (op == Op::select || op == Op::min || op == Op::max) return true;
  }
  return false;
}

// Operations of value and derivatives together, as they will run; parameter-only ones break ties.
double cost_of(const Graph& graph, NodeId root, std::span<const NodeId> derivatives) {
  std::vector<NodeId> outputs(derivatives.begin(), derivatives.end());
  outputs.push_back(root);
  const TileProgram program = compile(graph, outputs);
  return program.row_cost() + 1e-3 * static_cast<double>(program.prologue.size());
}

// The derivatives with respect to leaves of `graph`, built in a copy that holds `root` alone and is
// numbered by structure, so that equal expressions have equal derivatives however they were made.
std::vector<NodeId> derive(Graph& graph, NodeId root, std::span<const NodeId> leaves) {
  Graph copy;
  const NodeId roots[] = {root};
  const NodeId top = copy.adopt(graph, roots)[0];
  const bool branches = has_branches(copy);
  const std::vector<NodeId> own_leaves = copy.adopt(graph, leaves);

  Graph adjoint_copy = copy;
  std::vector<NodeId> best = derive_forward(copy, top, own_leaves);
  if (!branches && leaves.size() > 1) {
    const std::vector<NodeId> adjoint = derive_adjoint(adjoint_copy, top, own_leaves);
    if (cost_of(adjoint_copy, top, adjoint) <= cost_of(copy, top, best)) {
      return graph.adopt(adjoint_copy, adjoint);
    }
  }
  return graph.adopt(copy, best);
}

}  // namespace

std::vector<NodeId> derive_forward(Graph& graph, NodeId root, std::span<const NodeId> leaves) {
  Forward forward(graph, root, leaves);
  std::vector<NodeId> result;
  for (const NodeId leaf : leaves) result.push_back(forward.derive(leaf));
  return result;
}

std::vector<NodeId> differentiate(Graph& graph, NodeId root, std::span<const int> wrt) {
  std::vector<NodeId> leaves;
  for (const int index : wrt) leaves.push_back(graph.parameter(index));
  return derive(graph, root, leaves);
}

NodeId differentiate_column(Graph& graph, NodeId root, int column) {
  const NodeId leaves[] = {graph.column(column)};
  return derive(graph, root, leaves)[0];
}

}  // namespace nlsq::inline v0
