// Merges the recordings of one callable into a graph with a `select` node for each branch.
#include "recording/trace.hpp"

#include "recording/tape.hpp"

#include <nlsq/error.hpp>

#include <map>

namespace nlsq::inline v0 {

TapeRelation compare(const Recording& s, const Recording& t) {
  std::size_t step = 1;
  const auto same_until = [&](std::size_t end) {
    if (end > s.steps.size() || end > t.steps.size()) return false;
    for (; step < end; ++step) {
      if (!same_step(s.steps[step], t.steps[step])) return false;
    }
    return true;
  };
  for (std::size_t k = 0; k < s.guards.size() && k < t.guards.size(); ++k) {
    const TapeGuard &g = s.guards[k], &h = t.guards[k];
    if (g.position != h.position || g.condition != h.condition || !same_until(g.position))
      return TapeRelation::changed;
    if (g.outcome != h.outcome) return TapeRelation::other_branch;
  }
  const bool same = s.guards.size() == t.guards.size() && s.steps.size() == t.steps.size() &&
                    s.outputs == t.outputs && same_until(s.steps.size());
  return same ? TapeRelation::same : TapeRelation::changed;
}

namespace {

// Builds the decision tree over the guards of all recordings. `leaf(node)` returns the result for a path that
// ends in that node.
class DecisionTree {
 public:
  DecisionTree(Graph& graph, const std::vector<std::shared_ptr<const Recording>>& variants) : graph_(graph) {
    const auto constant = [&](const TapeStep& step) { return graph.constant(step.value); };
    for (const auto& variant : variants)
      paths_.push_back({variant.get(), replay(graph, variant->steps, 1, constant)});
  }

  template <class Leaf>
  NodeId build(Leaf leaf, NodeId unexplored) {
    std::vector<const Path*> all;
    for (const Path& path : paths_) all.push_back(&path);
    std::map<NodeId, bool> decided;
    return branch(all, 0, decided, leaf, unexplored);
  }

 private:
  struct Path {
    const Recording* variant;
    std::vector<NodeId> nodes;
  };

  // Builds the tree below `guard`. `paths` agree on the guards before `guard`. The limit on guards bounds the
  // depth.
  template <class Leaf>
  NodeId branch(const std::vector<const Path*>& paths, std::size_t guard, std::map<NodeId, bool>& decided,
                Leaf& leaf, NodeId unexplored) {
    const Path& first = *paths.front();
    if (guard == first.variant->guards.size()) return leaf(first.nodes[first.variant->outputs.front()]);
    const NodeId condition = first.nodes[first.variant->guards[guard].condition];
    std::vector<const Path*> yes, no;
    for (const Path* path : paths) (path->variant->guards[guard].outcome ? yes : no).push_back(path);

    // A repeated condition on one path needs no second select.
    const auto known = decided.find(condition);
    if (known != decided.end() && (known->second ? no : yes).empty()) {
      return branch(paths, guard + 1, decided, leaf, unexplored);
    }
    const auto side = [&](const std::vector<const Path*>& some, bool outcome) {
      if (some.empty()) return unexplored;
      const auto [place, added] = decided.emplace(condition, outcome);
      const NodeId node = branch(some, guard + 1, decided, leaf, unexplored);
      if (added) decided.erase(condition);
      return node;
    };
    const NodeId if_true = side(yes, true), if_false = side(no, false);
    return graph_.make(Op::select, condition, if_true, if_false);
  }

  Graph& graph_;
  std::vector<Path> paths_;
};

}  // namespace

TraceFamily::TraceFamily(ModelFunction function, int parameters, TraceLimits limits)
    : function_(std::move(function)), parameters_(parameters), limits_(limits) {
  if (!function_.trace) reason_ = "it is not generic in its scalar, or asks not to be recorded";
}

TraceFamily::Outcome TraceFamily::give_up(std::string reason) {
  reason_ = std::move(reason);
  return Outcome::opaque;
}

Recording TraceFamily::run(std::span<const double> x, std::span<const double> p) const {
  Tape tape(limits_.max_length, limits_.max_guards);
  std::vector<Traced> columns, parameters;
  for (std::size_t i = 0; i < x.size(); ++i)
    columns.push_back(tape.column(static_cast<std::uint32_t>(i), x[i]));
  for (std::size_t j = 0; j < p.size(); ++j)
    parameters.push_back(tape.parameter(static_cast<std::uint32_t>(j), p[j]));
  const Recorder recorder(tape);
  const Traced result = function_.trace(columns.data(), parameters);
  return tape.finish({&result, 1});
}

TraceFamily::Outcome TraceFamily::record(std::span<const double> x, std::span<const double> p) {
  if (!reason_.empty()) return Outcome::opaque;
  if (x.size() != static_cast<std::size_t>(function_.predictors) ||
      p.size() != static_cast<std::size_t>(parameters_)) {
    throw Error("a recording needs one row: " + std::to_string(function_.predictors) + " predictors and " +
                std::to_string(parameters_) + " parameters, not " + std::to_string(x.size()) + " and " +
                std::to_string(p.size()));
  }
  auto variant = std::make_shared<Recording>(run(x, p));
  if (!variant->reason.empty()) return give_up(variant->reason);
  for (const auto& known : variants_) {
    const TapeRelation relation = compare(*known, *variant);
    if (relation == TapeRelation::same) return Outcome::known;
    if (relation == TapeRelation::changed) return give_up(Tape::kChanges);
  }
  if (variants_.size() >= limits_.max_variants) {
    return give_up("it takes more than " + std::to_string(limits_.max_variants) + " different paths");
  }
  if (compare(*variant, run(x, p)) != TapeRelation::same) return give_up(Tape::kChanges);
  variants_.push_back(std::move(variant));
  return Outcome::added;
}

void TraceFamily::require_recording() const {
  if (!reason_.empty()) throw Error("the callable cannot be recorded: " + reason_);
  if (variants_.empty()) throw Error("nothing has been recorded yet");
}

NodeId TraceFamily::build(Graph& graph) const {
  require_recording();
  DecisionTree tree(graph, variants_);
  return tree.build([](NodeId result) { return result; }, graph.unexplored());
}

NodeId TraceFamily::build_explored(Graph& graph) const {
  require_recording();
  const NodeId yes = graph.constant(1), no = graph.constant(0);
  DecisionTree tree(graph, variants_);
  return tree.build([yes](NodeId) { return yes; }, no);
}

}  // namespace nlsq::inline v0
