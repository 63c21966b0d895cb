// Computes symbolic derivatives of graphs. The forward form computes a tangent for every node and parameter,
// from the leaves up. The adjoint form computes one derivative of the root for every node, from the root down
// (Griewank and Walther, Evaluating Derivatives, chapter 3). Both only visit nodes that depend on a wanted
// leaf.
#include "expression/graph_walk.hpp"
#include "expression/op_kinds.hpp"
#include "expression/partials.hpp"
#include "expression/rewrite.hpp"

#include <optional>
#include <utility>

namespace nlsq::inline v0 {

namespace {

class Forward {
 public:
  // `count` is the number of nodes considered.
  Forward(Graph& graph, std::size_t count, const Dependents& dependents, bool gather)
      : g_(graph), varies_(graph), products_(graph, varies_, gather), zero_(graph.constant(0)),
        tangents_(count, zero_), dependents_(dependents), seen_(count, 0) {
    for (const auto& list : dependents_) {
      for (const NodeId id : list) ++seen_[id];
    }
    growth_.emplace(graph, count, varies_, [this](NodeId id) { return id < seen_.size() && seen_[id] > 0; });
  }

  // Calls use(i, derivative of roots[i] by the leaf) for each root.
  template <class Use>
  void derive(std::size_t number, NodeId leaf, std::span<const NodeId> roots, Use use) {
    for (const NodeId id : dependents_[number]) tangents_[id] = tangent(id, leaf);
    for (std::size_t i = 0; i < roots.size(); ++i) use(i, tangents_[roots[i]]);
    for (const NodeId id : dependents_[number]) tangents_[id] = zero_;
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
      case Op::div: return quotient_tangent(id, shared);
      case Op::select: return g_.make(Op::select, f.a, db, dc);
      case Op::min: return g_.make(Op::select, g_.make(Op::less, f.b, f.a), db, da);
      case Op::max: return g_.make(Op::select, g_.make(Op::less, f.a, f.b), db, da);
      default: break;
    }
    const auto changes = relative_changes(g_, id, varies_, active_);
    const bool vanishes = da != zero_ && base_may_vanish(g_, id, varies_);
    if (!changes.empty() && !vanishes) return change_of(id, changes);
    NodeId sum = zero_;
    const NodeId tangents[] = {da, db};
    for (int i = 0; i < arity(f.op); ++i) {
      if (tangents[i] != zero_) sum = g_.add(sum, change_by_operand(id, i, tangents[i], shared));
    }
    return changes.empty() ? sum : g_.make(Op::select, f.a, change_of(id, changes), sum);
  }

  // Returns what an operand contributes to the tangent: its own tangent times the partial derivative by it.
  // If one factor is 0 and the other is infinite, the contribution is 0.
  NodeId change_by_operand(NodeId id, int which, NodeId tangent, bool shared) {
    Partial partial = partial_derivative(g_, id, which, varies_);
    // The function max(x-t, 0)^n has no slope before t.
    const bool steep = which == 0 && varies_(tangent) && is_steep_at_zero(g_, id);
    if (growth_->saturates(g_, id, varies_)) {
      const Node f = g_[id];
      if (f.op != Op::pow || which == 1) {
        tangent = in_exponent(f.op == Op::pow ? f.b : f.a, tangent);
      } else {
        const NodeId lowered = g_.make(Op::pow, f.a, g_.sub(f.b, g_.constant(1)));
        partial.node = g_.make(Op::select, lowered, g_.mul(f.b, lowered), zero_);
      }
    }
    const NodeId whole = partial.divides ? products_.quotient(tangent, partial.node, shared)
                                         : products_.product(tangent, partial.node);
    return steep ? g_.make(Op::select, tangent, whole, zero_) : whole;
  }

  // Returns the tangent of the argument of an exponential (see tangent_of_exponent).
  NodeId in_exponent(NodeId u, NodeId tangent) {
    const bool grows = growth_->of(u) && varies_(tangent);
    return grows ? tangent_of_exponent(g_, u, tangent, varies_) : tangent;
  }

  // Returns the tangent of w: w times its relative change, which is the sum of these parts.
  NodeId change_of(NodeId w, const std::vector<RelativeChange>& changes) {
    NodeId bounded = zero_, sum = zero_;
    for (const RelativeChange& part : changes) {
      NodeId tangent = tangents_[part.operand];
      if (tangent == zero_) continue;
      if (part.is_exponent) tangent = in_exponent(part.operand, tangent);
      if (!part.growing) {
        bounded = g_.add(bounded, products_.product(part.factor, tangent));
        continue;
      }
      // A factor that is the same in every row is left out of the choice, so that several parts share one.
      const bool inside = varies_(part.factor);
      const NodeId share = inside ? products_.product(w, part.factor) : w;
      const NodeId rest = inside ? tangent : products_.product(part.factor, tangent);
      sum = g_.add(sum, products_.product(product_with_growing(g_, share, *part.growing), rest));
    }
    return g_.add(products_.product(w, bounded), sum);
  }

  NodeId quotient_tangent(NodeId id, bool shared) {
    const Node f = g_[id];
    const NodeId da = tangents_[f.a], db = tangents_[f.b];
    const auto changes =
        db != zero_ ? changes_of_denominator(g_, f.b, varies_, active_) : std::vector<RelativeChange>();
    if (changes.empty()) return products_.quotient(g_.sub(da, products_.product(id, db)), f.b, shared);
    return g_.sub(products_.quotient(da, f.b, shared), change_of(id, changes));
  }

  Graph& g_;
  Variation varies_;
  DerivativeProducts products_;
  NodeId zero_;
  std::vector<NodeId> tangents_;
  const Dependents& dependents_;
  std::vector<std::uint32_t> seen_;  // for each node, the number of leaves that it depends on
  std::optional<Growth> growth_;
  // Returns true if a node depends on the current leaf. Newer nodes belong to derivatives and do not count.
  IsActive active_ = [this](NodeId id) { return id < tangents_.size() && tangents_[id] != zero_; };
};

constexpr std::size_t kNoLimit = static_cast<std::size_t>(-1);

std::vector<NodeId> derive_forward(Graph& graph, NodeId root, std::span<const NodeId> leaves,
                                   const Dependents& dependents, bool gather) {
  Forward forward(graph, std::size_t{root} + 1, dependents, gather);
  std::vector<NodeId> result(leaves.size());
  for (std::size_t j = 0; j < leaves.size(); ++j) {
    forward.derive(j, leaves[j], std::span(&root, 1),
                   [&](std::size_t, NodeId tangent) { result[j] = tangent; });
  }
  return result;
}

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
        if (to_b) pass_to_denominator(id, bar, share);
        return;
      }
      default: break;
    }
    if (const auto changes = relative_changes(g_, id, varies_, is_active_); !changes.empty())
      return give_changes(id, bar, false, changes);
    const NodeId operands[] = {f.a, f.b};
    const bool wanted[] = {to_a, to_b};
    for (int i = 0; i < arity(f.op); ++i) {
      if (!wanted[i]) continue;
      const Partial partial = partial_derivative(g_, id, i, varies_);
      give(operands[i], partial.divides ? products_.quotient(bar, partial.node, false)
                                        : products_.product(bar, partial.node));
    }
  }

  // Passes the adjoint `bar` of w on to the operands of these parts. Each operand gets bar times the
  // derivative of w by it. `minus` changes the sign, because a quotient falls as its denominator grows.
  void give_changes(NodeId w, NodeId bar, bool minus, const std::vector<RelativeChange>& changes) {
    const auto down = [&](NodeId whole) {
      const NodeId passed = products_.product(bar, whole);
      return minus ? g_.neg(passed) : passed;
    };
    for (const RelativeChange& part : changes) {
      if (!active_[part.operand]) continue;
      if (part.growing && varies_(part.factor)) {
        give(part.operand, product_with_growing(g_, products_.product(down(w), part.factor), *part.growing));
        continue;
      }
      const NodeId whole = part.growing ? product_with_growing(g_, w, *part.growing) : w;
      give(part.operand, products_.product(down(whole), part.factor));
    }
  }

  void pass_to_denominator(NodeId id, NodeId bar, NodeId share) {
    const NodeId b = g_[id].b;
    const auto changes = changes_of_denominator(g_, b, varies_, is_active_);
    if (changes.empty()) give(b, g_.neg(products_.product(share, id)));
    else give_changes(id, bar, true, changes);
  }

  Graph& g_;
  std::vector<std::uint8_t> active_;
  IsActive is_active_ = [this](NodeId id) { return id < active_.size() && active_[id] != 0; };
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

// Returns true if only the forward form is right: the graph branches, needs_tangents() holds for some node,
// or an exponential has an argument that grows (see Growth). A branch that is not taken, or an argument where
// the exponential is 0, may have an infinite derivative, which the adjoint form would multiply by 0.
bool only_forward(const Graph& graph, std::span<const NodeId> leaves) {
  const auto count = static_cast<NodeId>(graph.size());
  const std::vector<std::uint8_t> active = active_nodes(graph, count, leaves);
  const auto is_active = [&](NodeId node) { return active[node] != 0; };
  Variation varies(graph);
  const Growth growth(graph, count, varies, is_active);
  for (NodeId id = 0; id < count; ++id) {
    const Op op = graph[id].op;
    if (op == Op::select || op == Op::min || op == Op::max) return true;
    if (active[id] && growth.saturates(graph, id, varies)) return true;
    if (needs_tangents(graph, id, varies, is_active)) return true;
  }
  return false;
}

// Returns the cost of the value and its derivatives for one row. Products that will be contracted into sums
// count as free. If two forms cost the same per row, operations on parameters alone (once per pass) decide.
double cost_of(const Graph& graph, NodeId root, std::span<const NodeId> derivatives) {
  std::vector<std::uint32_t> uses(graph.size(), 0);
  for (const NodeId output : derivatives) uses[output] += 2;  // an output is never contracted
  uses[root] += 2;
  Variation varies(graph);
  double cost = 0;
  for (auto id = static_cast<NodeId>(graph.size()); id-- > 0;) {
    if (uses[id] == 0) continue;
    const Node& node = graph[id];
    for (const NodeId operand : Operands(node)) ++uses[operand];
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

// A forward form visits every pair of a leaf and a node that depends on it. An adjoint form visits every node
// once, at the cost of a few operations. Above this number of pairs per node the adjoint form is cheaper, and
// only it is built.
constexpr std::size_t kMostPairs = 16;

// Returns the derivatives by leaves of `graph`. They are built in a copy that contains only `root` and is
// numbered by structure, so that equal expressions have equal derivatives. All forms are built there, and the
// cheapest is kept.
std::vector<NodeId> derive(Graph& graph, NodeId root, std::span<const NodeId> leaves) {
  Graph copy;
  const NodeId top = copy.adopt(graph, std::span(&root, 1)).front();
  const std::vector<NodeId> own_leaves = copy.adopt(graph, leaves);
  const bool branches = only_forward(copy, own_leaves);

  const std::size_t count = std::size_t{top} + 1;
  const auto dependents = find_dependents(copy, count, own_leaves, branches ? kNoLimit : kMostPairs * count);
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
    if (dependents) consider(derive_forward(copy, top, own_leaves, *dependents, gather));
  }
  return graph.adopt(copy, best);
}

// Differentiates roots that mostly share one expression in one forward pass: each tangent is computed once
// for all roots that need it. Separate passes would repeat the shared part. Returns nothing if separate
// passes are less work.
std::optional<std::vector<NodeId>> derive_together(Graph& graph, std::span<const NodeId> roots,
                                                   std::span<const NodeId> leaves) {
  // A node may be visited for this many roots. Up to this number, the cheapest form of each root is better.
  constexpr std::size_t kMostRepeats = 16;
  if (roots.size() <= kMostRepeats) return std::nullopt;
  Graph copy;
  const std::vector<NodeId> tops = copy.adopt(graph, roots);
  const std::size_t count = copy.size();
  const std::size_t most = kMostRepeats * count,
                    separate = separate_nodes(copy, tops, static_cast<double>(kMostPairs * most));
  if (separate <= most) return std::nullopt;
  const std::vector<NodeId> own_leaves = copy.adopt(graph, leaves);
  const auto dependents =
      find_dependents(copy, count, own_leaves, only_forward(copy, own_leaves) ? kNoLimit : separate);
  if (!dependents) return std::nullopt;
  Forward forward(copy, count, *dependents, false);
  std::vector<NodeId> result(roots.size() * leaves.size());
  for (std::size_t j = 0; j < leaves.size(); ++j) {
    forward.derive(j, own_leaves[j], tops,
                   [&](std::size_t i, NodeId tangent) { result[i * leaves.size() + j] = tangent; });
  }
  return graph.adopt(copy, result);
}

}  // namespace

NodeId derive_forward(Graph& graph, NodeId root, NodeId leaf) {
  const std::span<const NodeId> leaves(&leaf, 1);
  const auto dependents = find_dependents(graph, std::size_t{root} + 1, leaves, kNoLimit);
  return derive_forward(graph, root, leaves, *dependents, false).front();
}

std::vector<NodeId> differentiate(Graph& graph, NodeId root, std::span<const int> wrt) {
  std::vector<NodeId> leaves;
  for (const int index : wrt) leaves.push_back(graph.parameter(index));
  return derive(graph, root, leaves);
}

std::vector<NodeId> differentiate_columns(Graph& graph, std::span<const NodeId> roots,
                                          std::span<const int> columns) {
  std::vector<NodeId> leaves;
  for (const int column : columns) leaves.push_back(graph.column(column));
  if (auto together = derive_together(graph, roots, leaves)) return *std::move(together);
  std::vector<NodeId> all;
  for (const NodeId root : roots) {
    const std::vector<NodeId> slopes = derive(graph, root, leaves);
    all.insert(all.end(), slopes.begin(), slopes.end());
  }
  return all;
}

NodeId differentiate_column(Graph& graph, NodeId root, int column) {
  return differentiate_columns(graph, std::span(&root, 1), std::span(&column, 1))[0];
}

}  // namespace nlsq::inline v0
