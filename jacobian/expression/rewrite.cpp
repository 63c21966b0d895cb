// Rewrites a graph before compilation, so that it needs fewer instructions.
#include "expression/rewrite.hpp"

#include "expression/graph_walk.hpp"
#include "expression/op_kinds.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace nlsq::inline v0 {

namespace {

// Says how a value must be computed so that jumps fall on the right side: in any way (none), with the right
// sign and the right zeros (sign), or with every operation rounded as the formula is written (exact).
enum class Care : std::uint8_t { none, sign, exact };

// Returns how operand number `which` of a node must be computed, if the node itself must be computed with the
// care `own`.
Care care_for(const Graph& graph, NodeId id, int which, Care own) {
  const Node& node = graph[id];
  switch (node.op) {
    case Op::floor:
    case Op::ceil:
    case Op::fmod: return Care::exact;
    case Op::sign:
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_not: return Care::sign;
    case Op::select: return which == 0 ? std::max(own, Care::sign) : own;
    default: break;
  }
  if (is_truth(node.op))
    return graph.is_constant(node.a, 0) || graph.is_constant(node.b, 0) ? Care::sign : Care::exact;
  if (own != Care::sign) return own;
  // The sign of a product is right if the signs of its factors are. A sum needs exact terms, because they may
  // cancel.
  switch (node.op) {
    case Op::mul:
    case Op::div:
    case Op::neg:
    case Op::abs:
    case Op::sqrt:
    case Op::cbrt: return Care::sign;
    case Op::exp: return Care::none;
    case Op::pow: return which == 0 ? Care::sign : Care::exact;
    default: return Care::exact;
  }
}

}  // namespace

std::vector<std::uint8_t> exact_nodes(const Graph& graph) {
  std::vector<Care> care(graph.size(), Care::none);
  for (auto id = static_cast<NodeId>(graph.size()); id-- > 0;) {
    int which = 0;
    for (const NodeId operand : Operands(graph[id]))
      care[operand] = std::max(care[operand], care_for(graph, id, which++, care[id]));
  }
  std::vector<std::uint8_t> exact(graph.size(), 0);
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Op op = graph[id].op;
    const bool sum = op == Op::add || op == Op::sub;
    exact[id] = care[id] == Care::exact || (care[id] == Care::sign && sum) ? 1 : 0;
  }
  return exact;
}

namespace {

class Rewriter {
 public:
  Rewriter(const Graph& graph, const std::vector<NodeId>& outputs)
      : graph_(graph), varies_(graph.depends_on_columns()), exact_(exact_nodes(graph)),
        uses_(graph.size(), 0), quotients_(graph.size(), 0), here_(graph.size(), 0) {
    for (const NodeId output : outputs) uses_[output] += 2;  // an output is never merged into another node
    for (NodeId id = 0; id < graph.size(); ++id) {
      const Node& node = graph[id];
      for (const NodeId operand : Operands(node)) ++uses_[operand];
      if (node.op == Op::div && !exact_[id]) ++quotients_[node.b];
      if (node.op == Op::sub) differences_.emplace(pair(node.a, node.b), id);
    }
  }

  Graph run(std::vector<NodeId>& outputs) {
    for (NodeId id = 0; id < graph_.size(); ++id) here_[id] = made(id);
    for (NodeId& output : outputs) output = here_[output];
    return std::move(result_);
  }

 private:
  static std::uint64_t pair(NodeId a, NodeId b) { return static_cast<std::uint64_t>(a) << 32 | b; }

  NodeId made(NodeId id) {
    const Node& node = graph_[id];
    if (exact_[id]) return rebuilt(result_, node, here_);
    switch (node.op) {
      case Op::div:
        if (varies_[id] && (!varies_[node.b] || quotients_[node.b] > 1)) {
          return result_.mul(here_[node.a], result_.div(result_.constant(1), here_[node.b]));
        }
        break;
      case Op::add:
        if (varies_[id] && !varies_[node.a]) return add_uniform(node.a, node.b);
        if (varies_[id] && !varies_[node.b]) return add_uniform(node.b, node.a);
        break;
      case Op::mul: return varies_[id] ? product(node.a, node.b) : result_.mul(here_[node.a], here_[node.b]);
      default: break;
    }
    return rebuilt(result_, node, here_);
  }

  // Returns true if the node is v*x, where x varies by row and v does not.
  bool is_scaled(NodeId id) const {
    const Node& node = graph_[id];
    return node.op == Op::mul && varies_[node.a] != varies_[node.b];
  }

  // Adds u, which does not vary by row, to a sum. u + (v x + w) becomes w + (u + v x), which is one fused
  // multiply-add and one addition.
  NodeId add_uniform(NodeId u, NodeId sum) {
    const Node& s = graph_[sum];
    if (s.op != Op::add || uses_[sum] != 1 || !varies_[s.a] || !varies_[s.b] ||
        (!is_scaled(s.a) && !is_scaled(s.b))) {
      return result_.add(here_[u], here_[sum]);
    }
    const NodeId scaled = is_scaled(s.b) ? s.b : s.a, other = is_scaled(s.b) ? s.a : s.b;
    return result_.add(here_[other], result_.add(here_[u], here_[scaled]));
  }

  NodeId product(NodeId a, NodeId b) {
    if (varies_[a] && varies_[b]) {
      const NodeId left = mirrored(a), right = mirrored(b);
      const bool flip_left = left != a, flip_right = right != b;
      const NodeId size = result_.mul(here_[left], here_[right]);
      return flip_left != flip_right ? result_.neg(size) : size;
    }
    const NodeId u = varies_[a] ? b : a, x = varies_[a] ? a : b;
    if (const NodeId folded = times(x, u, 4); folded != kNone) return folded;
    return result_.mul(here_[u], here_[x]);
  }

  // Returns u*x, with u merged into a uniform factor of x, or kNone if x has no such factor.
  NodeId times(NodeId x, NodeId u, int depth) {
    const Node& node = graph_[x];
    if (node.op != Op::mul || depth == 0) return kNone;
    if (is_scaled(x)) {
      const NodeId v = varies_[node.a] ? node.b : node.a, rest = varies_[node.a] ? node.a : node.b;
      return result_.mul(result_.mul(here_[u], here_[v]), here_[rest]);
    }
    if (uses_[x] != 1 || !varies_[node.a]) return kNone;
    if (const NodeId left = times(node.a, u, depth - 1); left != kNone)
      return result_.mul(left, here_[node.b]);
    if (const NodeId right = times(node.b, u, depth - 1); right != kNone)
      return result_.mul(here_[node.a], right);
    return kNone;
  }

  // Returns b - a if id is a - b and b - a was built before it. Otherwise returns id.
  NodeId mirrored(NodeId id) const {
    const Node& node = graph_[id];
    if (node.op != Op::sub) return id;
    const auto other = differences_.find(pair(node.b, node.a));
    return other != differences_.end() && other->second < id ? other->second : id;
  }

  static constexpr NodeId kNone = ~NodeId{0};

  const Graph& graph_;
  std::vector<std::uint8_t> varies_, exact_;
  std::vector<int> uses_, quotients_;
  std::unordered_map<std::uint64_t, NodeId> differences_;
  std::vector<NodeId> here_;
  Graph result_;
};

}  // namespace

Graph rewrite(const Graph& graph, std::vector<NodeId>& outputs) {
  return Rewriter(graph, outputs).run(outputs);
}

namespace {

constexpr double kLargest = 8.5;

// Returns x^(k + 1/2) as x^k sqrt(x).
NodeId half_power(Graph& graph, NodeId base, double exponent) {
  const double size = std::fabs(exponent);
  const NodeId root = graph.make(Op::sqrt, base);
  const NodeId whole = graph.make(Op::pow, base, graph.constant(std::floor(size)));
  const NodeId power = graph.mul(whole, root);
  return exponent > 0 ? power : graph.div(graph.constant(1), power);
}

}  // namespace

bool is_half_power(double exponent) noexcept {
  const double twice = 2 * std::fabs(exponent);
  return twice <= 2 * kLargest && twice == std::floor(twice) && std::fmod(twice, 2) == 1;
}

double half_power_cost(double exponent) noexcept { return exponent > 0 ? 8 : 12; }

Graph expand_half_powers(const Graph& graph, std::vector<NodeId>& outputs) {
  Graph result;
  std::vector<NodeId> here(graph.size());
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    const Node& exponent = graph[node.b];
    const bool expands = node.op == Op::pow && exponent.op == Op::constant && is_half_power(exponent.value);
    here[id] = expands ? half_power(result, here[node.a], exponent.value) : rebuilt(result, node, here);
  }
  for (NodeId& output : outputs) output = here[output];
  return result;
}

}  // namespace nlsq::inline v0
