// Finds the parameters in which a model is jointly linear: p joins the set if ∂f/∂p depends neither on p nor
// on a parameter already in the set. Dependence is read from the structure of the simplified derivative. A
// parameter can therefore be missed (p^2/p), but is never wrongly included. Also finds the parameters that
// only move jumps.
#include "expression/graph_walk.hpp"
#include "expression/op_kinds.hpp"
#include "expression/partials.hpp"

#include <algorithm>

namespace nlsq::inline v0 {

namespace {

// Returns true for step functions, whose derivative is zero or constant almost everywhere although they are
// not linear. Returns true also for trigamma, which has no derivative here and is not linear.
bool hides_its_argument(Op op) { return is_piecewise_constant(op) || op == Op::fmod || op == Op::trigamma; }

// Returns true if the model has such an operation. Most models have none; then no parameter needs to be
// checked.
bool has_steps(const Graph& graph, NodeId root) {
  for (NodeId id = 0; id <= root; ++id) {
    if (hides_its_argument(graph[id].op) || graph[id].op == Op::select) return true;
  }
  return false;
}

bool enters_a_step(const Graph& graph, NodeId root, int parameter) {
  const auto depends = graph.depends_on_parameter(parameter);
  const auto used = needed_for(graph, root);
  for (NodeId id = 0; id <= root; ++id) {
    const Node& node = graph[id];
    if (!used[id] || !depends[id]) continue;
    if (hides_its_argument(node.op) || (node.op == Op::select && depends[node.a])) return true;
  }
  return false;
}

bool mentions_any(const Graph& graph, NodeId root, std::span<const int> parameters) {
  const auto used = needed_for(graph, root);
  for (NodeId id = 0; id <= root; ++id) {
    const Node& node = graph[id];
    if (!used[id] || node.op != Op::parameter) continue;
    if (std::ranges::find(parameters, static_cast<int>(node.index)) != parameters.end()) return true;
  }
  return false;
}

}  // namespace

std::vector<int> linear_parameters(const Graph& graph, NodeId root, std::span<const int> candidates) {
  std::vector<int> chosen;
  Graph copy;
  const NodeId top = copy.adopt(graph, std::span(&root, 1)).front();
  const bool steps = has_steps(copy, top);
  for (const int candidate : candidates) {
    const NodeId leaf = copy.parameter(candidate);
    if (leaf > top || (steps && enters_a_step(copy, top, candidate))) continue;
    const NodeId derivative = derive_forward(copy, top, leaf);
    if (copy.is_constant(derivative, 0)) continue;
    chosen.push_back(candidate);
    if (mentions_any(copy, derivative, chosen)) chosen.pop_back();
  }
  return chosen;
}

std::vector<int> jump_parameters(const Graph& graph, NodeId root, std::span<const int> candidates) {
  std::vector<int> found;
  if (!has_steps(graph, root)) return found;
  Graph copy;
  const NodeId top = copy.adopt(graph, std::span(&root, 1)).front();
  for (const int candidate : candidates) {
    const NodeId leaf = copy.parameter(candidate);
    if (leaf > top || !enters_a_step(copy, top, candidate)) continue;
    if (copy.is_constant(derive_forward(copy, top, leaf), 0)) found.push_back(candidate);
  }
  return found;
}

}  // namespace nlsq::inline v0
