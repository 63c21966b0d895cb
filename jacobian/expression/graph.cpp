// Hash-consing of graph nodes, and the traversals that only need ids in topological order.
#include "expression/graph_walk.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace nlsq::inline v0 {

namespace {

// Mixes x into a hash by one multiplication. The high bits depend on every lower bit and are folded into the
// low ones.
std::uint64_t combine(std::uint64_t seed, std::uint64_t x) {
  const std::uint64_t product = (seed ^ x) * 0x9e3779b97f4a7c15ULL;
  return product ^ (product >> 32);
}

// Returns the place of a node among the operands of a sum or product: 2, a, x, everything else.
int rank(Op op) {
  switch (op) {
    case Op::constant: return 0;
    case Op::parameter: return 1;
    case Op::column: return 2;
    default: return 3;
  }
}

bool same_node(const Node& l, const Node& r) {
  return l.op == r.op && l.index == r.index && l.a == r.a && l.b == r.b && l.c == r.c &&
         std::bit_cast<std::uint64_t>(l.value) == std::bit_cast<std::uint64_t>(r.value);
}

bool is_commutative(Op op) {
  return op == Op::add || op == Op::mul || op == Op::equal || op == Op::not_equal || op == Op::logical_and ||
         op == Op::logical_or;
}

}  // namespace

std::uint64_t Graph::structure(const Node& node) const {
  std::uint64_t h =
      combine(static_cast<std::uint64_t>(node.op) + 1, std::bit_cast<std::uint64_t>(node.value));
  h = combine(h, node.index);
  for (const NodeId operand : Operands(node)) h = combine(h, structure_[operand]);
  return h;
}

NodeId Graph::intern(const Node& node) {
  if (2 * (nodes_.size() + 1) > table_.size()) grow_table();
  const std::uint64_t hash = structure(node);
  std::size_t slot = static_cast<std::size_t>(hash) & (table_.size() - 1);
  for (; table_[slot] != kNone; slot = (slot + 1) & (table_.size() - 1)) {
    const NodeId id = table_[slot];
    if (structure_[id] == hash && same_node(nodes_[id], node)) return id;
  }
  table_[slot] = static_cast<NodeId>(nodes_.size());
  structure_.push_back(hash);
  nodes_.push_back(node);
  return table_[slot];
}

void Graph::grow_table() {
  table_.assign(std::max<std::size_t>(64, 2 * table_.size()), kNone);
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    std::size_t slot = static_cast<std::size_t>(structure_[id]) & (table_.size() - 1);
    while (table_[slot] != kNone) slot = (slot + 1) & (table_.size() - 1);
    table_[slot] = id;
  }
}

NodeId Graph::constant(double value) { return intern({.op = Op::constant, .value = value}); }

NodeId Graph::column(int index) {
  return intern({.op = Op::column, .index = static_cast<std::uint32_t>(index)});
}

NodeId Graph::parameter(int index) {
  return intern({.op = Op::parameter, .index = static_cast<std::uint32_t>(index)});
}

NodeId Graph::unexplored() { return intern({.op = Op::unexplored}); }

bool Graph::is_constant(NodeId id, double value) const {
  return nodes_[id].op == Op::constant && nodes_[id].value == value;
}

bool Graph::in_order(NodeId a, NodeId b) const {
  const int rank_a = rank(nodes_[a].op), rank_b = rank(nodes_[b].op);
  if (rank_a != rank_b) return rank_a < rank_b;
  if (rank_a == 1 || rank_a == 2) return nodes_[a].index <= nodes_[b].index;
  if (structure_[a] != structure_[b]) return structure_[a] < structure_[b];
  return a <= b;
}

NodeId Graph::make(Op op, NodeId a, NodeId b, NodeId c) {
  switch (op) {
    case Op::copy: return a;
    case Op::fma: return add(mul(a, b), c);
    case Op::fms: return sub(mul(a, b), c);
    case Op::fnma: return sub(c, mul(a, b));
    case Op::unexplored: return unexplored();
    default: break;
  }
  const int operands = arity(op);
  if (operands < 2) b = 0;
  if (operands < 3) c = 0;
  if (const NodeId folded = fold(op, a, b, c); folded != kNone) return folded;
  if (is_commutative(op) && !in_order(a, b)) std::swap(a, b);
  if (const NodeId simpler = simplify(op, a, b, c); simpler != kNone) return simpler;
  return intern({.op = op, .a = a, .b = b, .c = c});
}

namespace {

// Maps nodes of one graph to another. The table is kept between calls, and only entries that were written are
// cleared. Copying a small expression out of a large graph thus costs in proportion to the expression.
class Places {
 public:
  static constexpr NodeId kNowhere = static_cast<NodeId>(-1);

  explicit Places(std::size_t size) : table_(table()) {
    if (table_.size() < size) table_.resize(size, kNowhere);
  }
  ~Places() {
    for (const NodeId id : written_) table_[id] = kNowhere;
    if (table_.size() > kMostKept) std::vector<NodeId>().swap(table_);
  }
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  NodeId operator[](NodeId id) const { return table_[id]; }
  void set(NodeId id, NodeId place) {
    written_.push_back(id);
    table_[id] = place;
  }

 private:
  static constexpr std::size_t kMostKept = std::size_t{1} << 20;
  static std::vector<NodeId>& table() {
    thread_local std::vector<NodeId> places;
    return places;
  }

  std::vector<NodeId>& table_;
  std::vector<NodeId> written_;
};

}  // namespace

std::vector<NodeId> Graph::adopt(const Graph& from, std::span<const NodeId> roots) {
  Places here(from.size());
  std::vector<NodeId> stack;
  for (const NodeId root : roots) {
    stack.push_back(root);
    while (!stack.empty()) {
      const NodeId id = stack.back();
      Node node = from[id];
      NodeId* const operands[] = {&node.a, &node.b, &node.c};
      const int count = arity(node.op);
      bool ready = true;
      for (int i = count; i-- > 0;) {  // the first operand is pushed last, so it is copied first
        if (here[*operands[i]] == Places::kNowhere) {
          stack.push_back(*operands[i]);
          ready = false;
        }
      }
      if (!ready) continue;
      for (int i = 0; i < count; ++i) *operands[i] = here[*operands[i]];
      if (here[id] == Places::kNowhere) here.set(id, intern(node));
      stack.pop_back();
    }
  }
  std::vector<NodeId> result;
  result.reserve(roots.size());
  for (const NodeId root : roots) result.push_back(here[root]);
  return result;
}

namespace {

// Marks all nodes that depend on the leaves selected by `is_source`.
template <class IsSource>
std::vector<std::uint8_t> reach(const Graph& graph, IsSource is_source) {
  std::vector<std::uint8_t> marked(graph.size(), 0);
  for (NodeId id = 0; id < graph.size(); ++id) {
    marked[id] = is_source(graph[id]) ? 1 : 0;
    for (const NodeId operand : Operands(graph[id])) marked[id] |= marked[operand];
  }
  return marked;
}

}  // namespace

std::vector<std::uint8_t> Graph::depends_on_columns() const {
  return reach(*this, [](const Node& node) { return node.op == Op::column; });
}

std::vector<std::uint8_t> Graph::depends_on_parameters() const {
  return reach(*this, [](const Node& node) { return node.op == Op::parameter; });
}

std::vector<std::uint8_t> Graph::depends_on_parameter(int index) const {
  return reach(*this, [index](const Node& node) {
    return node.op == Op::parameter && node.index == static_cast<std::uint32_t>(index);
  });
}

std::vector<std::uint8_t> active_nodes(const Graph& graph, std::size_t count,
                                       std::span<const NodeId> leaves) {
  std::vector<std::uint8_t> active(count, 0);
  for (const NodeId leaf : leaves) {
    if (leaf < count) active[leaf] = 1;
  }
  for (NodeId id = 0; id < count; ++id) {
    for (const NodeId operand : Operands(graph[id])) active[id] |= active[operand];
  }
  return active;
}

std::optional<Dependents> find_dependents(const Graph& graph, std::size_t count,
                                          std::span<const NodeId> leaves, std::size_t limit) {
  std::vector<std::uint32_t> first(count + 1, 0), users;  // the users of node k start at first[k]
  const auto for_each_operand = [&](auto use) {
    for (NodeId id = 0; id < count; ++id) {
      for (const NodeId operand : Operands(graph[id])) use(operand, id);
    }
  };
  for_each_operand([&](NodeId operand, NodeId) { ++first[operand + 1]; });
  for (std::size_t k = 0; k < count; ++k) first[k + 1] += first[k];
  users.resize(first[count]);
  std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
  for_each_operand([&](NodeId operand, NodeId user) { users[next[operand]++] = user; });

  Dependents found;
  std::vector<std::uint32_t> stamp(count, 0);
  std::size_t total = 0;
  for (const NodeId leaf : leaves) {
    auto& list = found.emplace_back();
    if (leaf >= count) continue;
    const auto visit = [&](NodeId id) {
      if (std::exchange(stamp[id], static_cast<std::uint32_t>(found.size())) != found.size())
        list.push_back(id);
    };
    visit(leaf);
    for (std::size_t k = 0; k < list.size(); ++k) {
      for (std::uint32_t u = first[list[k]]; u < first[list[k] + 1]; ++u) visit(users[u]);
    }
    std::ranges::sort(list);
    total += list.size();
    if (total > limit) return std::nullopt;
  }
  return found;
}

std::vector<std::uint8_t> needed_for(const Graph& graph, NodeId root) {
  std::vector<std::uint8_t> needed(root + 1, 0);
  needed[root] = 1;
  for (NodeId id = root + 1; id-- > 0;) {
    if (!needed[id]) continue;
    for (const NodeId operand : Operands(graph[id])) needed[operand] = 1;
  }
  return needed;
}

double evaluate(const Graph& graph, NodeId root, std::span<const double> columns,
                std::span<const double> parameters) {
  const auto leaf = [&](const Node& node) {
    return node.op == Op::column ? columns[node.index] : parameters[node.index];
  };
  return walk_graph<double>(graph, root, leaf, evaluate_op);
}

}  // namespace nlsq::inline v0
