// Product forms of half powers.
#include "expression/powers.hpp"

#include "expression/graph_walk.hpp"

#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr double kLargest = 8.5;

// x^(k + 1/2) = x^k sqrt(x).
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
