// Symbolic derivatives. Forward: a tangent for every node and parameter, from the leaves up.
// Adjoint: one derivative of the root for every node, from the root down (Griewank and Walther,
// Evaluating Derivatives, chapter 3). Both visit only nodes that depend on a wanted leaf.
#include "derivative_forms.hpp"
#include "op_cost.hpp"
#include "partials.hpp"
#include "powers.hpp"

#include <algorithm>

namespace nlsq::inline v0 {

namespace {

// Which of the first `count` nodes depend on one of the leaves.
std::vector<std::uint8_t> active_nodes(const Graph& graph, std::size_t count,
                                       std::span<const NodeId> leaves) {
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

class Forward {
 public:
  Forward(Graph& graph, NodeId root, std::span<const NodeId> leaves, bool gather)
      : g_(graph), root_(root), varies_(graph), products_(graph, varies_, gather), zero_(graph.constant(0)),
        tangents_(root + 1, zero_), seen_(root + 1, 0) {
    for (const NodeId leaf : leaves) {
      const auto active = active_nodes(g_, root + 1, std::span(&leaf, 1));
      auto& list = active_.emplace_back();
      for (NodeId id = 0; id <= root; ++id) {
        if (!active[id]) continue;
        list.push_back(id);
        ++seen_[id];
      }
    }
  }

  // The derivative with respect to the leaf of that number.
  NodeId derive(std::size_t number, NodeId leaf) {
    for (const NodeId id : active_[number]) tangents_[id] = tangent(id, leaf);
    const NodeId result = tangents_[root_];
    for (const NodeId id : active_[number]) tangents_[id] = zero_;
    return result;
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
      case Op::mul: return g_.add(products_.product(da, f.b), products_.product(f.a, db));
      case Op::div: return products_.quotient(g_.sub(da, products_.product(id, db)), f.b, shared);
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
      sum = g_.add(sum, partial.divides ? products_.quotient(tangents[i], partial.node, shared)
                                        : products_.product(tangents[i], partial.node));
    }
    return sum;
  }

  Graph& g_;
  NodeId root_;
  Variation varies_;
  DerivativeProducts products_;
  NodeId zero_;
  std::vector<NodeId> tangents_;
  std::vector<std::vector<NodeId>> active_;  // for each leaf, what depends on it, in order
  std::vector<std::uint32_t> seen_;          // how many of the leaves a node depends on
};

class Adjoint {
 public:
  Adjoint(Graph& graph, NodeId root, std::span<const NodeId> leaves, bool gather)
      : g_(graph), active_(active_nodes(graph, root + 1, leaves)), varies_(graph),
        products_(graph, varies_, gather), zero_(graph.constant(0)), adjoints_(root + 1, zero_) {
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
        if (to_a) give(f.a, products_.product(bar, f.b));
        if (to_b) give(f.b, products_.product(bar, f.a));
        return;
      case Op::div: {
        const NodeId share = products_.quotient(bar, f.b, false);
        if (to_a) give(f.a, share);
        if (to_b) give(f.b, g_.neg(products_.product(share, id)));
        return;
      }
      default: break;
    }
    const NodeId operands[] = {f.a, f.b};
    const bool wanted[] = {to_a, to_b};
    for (int i = 0; i < arity(f.op); ++i) {
      if (!wanted[i]) continue;
      const Partial partial = partial_derivative(g_, id, i, varies_);
      give(operands[i], partial.divides ? products_.quotient(bar, partial.node, false)
                                        : products_.product(bar, partial.node));
    }
  }

  Graph& g_;
  std::vector<std::uint8_t> active_;
  Variation varies_;
  DerivativeProducts products_;
  NodeId zero_;
  std::vector<NodeId> adjoints_;
};

std::vector<NodeId> derive_adjoint(Graph& graph, NodeId root, std::span<const NodeId> leaves, bool gather) {
  const Adjoint adjoint(graph, root, leaves, gather);
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

// Cost of a row of value and derivatives together, products that will be contracted into sums counted
// as free; operations on parameters alone (once a pass) break ties.
double cost_of(const Graph& graph, NodeId root, std::span<const NodeId> derivatives) {
  std::vector<std::uint32_t> uses(graph.size(), 0);
  for (const NodeId output : derivatives) uses[output] += 2;  // an output is never contracted
  uses[root] += 2;
  Variation varies(graph);
  double cost = 0;
  for (auto id = static_cast<NodeId>(graph.size()); id-- > 0;) {
    if (uses[id] == 0) continue;
    const Node& node = graph[id];
    const NodeId operands[] = {node.a, node.b, node.c};
    for (int i = 0; i < arity(node.op); ++i) ++uses[operands[i]];
    const bool half_power = node.op == Op::pow && is_half_power(graph[node.b].value);
    cost += !varies(id) ? 1e-3 : half_power ? half_power_cost(graph[node.b].value) : op_cost(node.op);
  }
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (uses[id] == 0 || !varies(id)) continue;
    const auto merges = [&](NodeId operand) {
      return graph[operand].op == Op::mul && uses[operand] == 1 && varies(operand);
    };
    if ((node.op == Op::add || node.op == Op::sub) && (merges(node.a) || merges(node.b))) cost -= 1;
    if (node.op == Op::neg && merges(node.a)) cost -= 1;
  }
  return cost;
}

// The derivatives with respect to leaves of `graph`, built in a copy that holds `root` alone and is
// numbered by structure, so that equal expressions have equal derivatives however they were made. All
// forms are built side by side there; the cheapest is kept.
std::vector<NodeId> derive(Graph& graph, NodeId root, std::span<const NodeId> leaves) {
  Graph copy;
  const NodeId roots[] = {root};
  const NodeId top = copy.adopt(graph, roots)[0];
  const bool branches = has_branches(copy);
  const std::vector<NodeId> own_leaves = copy.adopt(graph, leaves);

  std::vector<NodeId> best;
  double least = 0;
  const auto consider = [&](std::vector<NodeId> form) {
    const double cost = cost_of(copy, top, form);
    if (!best.empty() && cost >= least) return;
    best = std::move(form);
    least = cost;
  };
  for (const bool gather : {false, true}) {
    if (!branches) consider(derive_adjoint(copy, top, own_leaves, gather));
    consider(derive_forward(copy, top, own_leaves, gather));
  }
  return graph.adopt(copy, best);
}

}  // namespace

std::vector<NodeId> derive_forward(Graph& graph, NodeId root, std::span<const NodeId> leaves, bool gather) {
  Forward forward(graph, root, leaves, gather);
  std::vector<NodeId> result;
  for (std::size_t i = 0; i < leaves.size(); ++i) result.push_back(forward.derive(i, leaves[i]));
  return result;
}

std::vector<NodeId> differentiate(Graph& graph, NodeId root, std::span<const int> wrt) {
  std::vector<NodeId> leaves;
  for (const int index : wrt) leaves.push_back(graph.parameter(index));
  return derive(graph, root, leaves);
}

std::vector<NodeId> differentiate_columns(Graph& graph, NodeId root, std::span<const int> columns) {
  std::vector<NodeId> leaves;
  for (const int column : columns) leaves.push_back(graph.column(column));
  return derive(graph, root, leaves);
}

NodeId differentiate_column(Graph& graph, NodeId root, int column) {
  return differentiate_columns(graph, root, std::span(&column, 1))[0];
}

}  // namespace nlsq::inline v0
