// Finds the arguments of exponentials that may be infinite in some row, and their tangents there.
#include "expression/graph_walk.hpp"
#include "expression/op_kinds.hpp"
#include "expression/partials.hpp"

#include <cstddef>
#include <limits>
#include <set>
#include <utility>

namespace nlsq::inline v0 {

namespace {

// Returns true if the derivative of the operation may be infinite at a finite operand, or if its value may
// be.
bool may_be_infinite(Op op) {
  switch (op) {
    case Op::div:
    case Op::pow:
    case Op::exp:
    case Op::expm1:
    case Op::log:
    case Op::log10:
    case Op::log2:
    case Op::log1p:
    case Op::sinh:
    case Op::cosh:
    case Op::tan: return true;
    default: return false;
  }
}

// Returns true if the operation becomes infinite as slowly as a logarithm. The exponential of it is a power.
bool is_logarithmic(Op op) {
  switch (op) {
    case Op::log:
    case Op::log10:
    case Op::log2:
    case Op::log1p:
    case Op::asinh:
    case Op::acosh:
    case Op::atanh:
    case Op::lgamma:
    case Op::digamma: return true;
    default: return false;
  }
}

}  // namespace

Growth::Growth(const Graph& graph, std::size_t count, Variation& varies, const IsActive& active)
    : grows_(count, 0) {
  std::vector<std::uint8_t> power(count, 0), overflows(count, 0);
  std::vector<Factor> factors;
  for (NodeId id = 0; id < count; ++id) {
    const Node& node = graph[id];
    const NodeId source = node.op == Op::div ? node.b : id;
    grows_[id] = varies(source) && may_be_infinite(node.op) ? 1 : 0;
    overflows[id] = node.op == Op::mul && varies(node.a) && varies(node.b) ? 1 : 0;
    if (is_logarithmic(node.op) && varies(node.a) && active(node.a)) {
      factors.clear();
      if (!add_factors(graph, {node.a, false}, varies, active, factors)) power[id] = 1;
    }
    for (const NodeId operand : Operands(node)) {
      grows_[id] |= grows_[operand];
      overflows[id] |= overflows[operand];
      power[id] |= power[operand];
    }
  }
  bool any = false;
  for (NodeId id = 0; id < count; ++id) {
    if (power[id]) grows_[id] = 0;
    any = any || saturates(graph, id, varies) || base_may_vanish(graph, id, varies);
  }
  // If there is such an exponential or power, only the forward form is right. Its tangents overflow more
  // easily than adjoints. So products of factors that vary, such as x^2 in exp(-x^2), count as well.
  for (NodeId id = 0; any && id < count; ++id) {
    if (!power[id]) grows_[id] |= overflows[id];
  }
}

bool Growth::saturates(const Graph& graph, NodeId id, Variation& varies) const {
  const Node& node = graph[id];
  switch (node.op) {
    case Op::exp:
    case Op::expm1:
    case Op::sinh:
    case Op::cosh:
    case Op::tanh:
    case Op::erf:
    case Op::erfc: return of(node.a);
    case Op::pow: return !varies(node.a) && of(node.b);
    default: return false;
  }
}

namespace {

// Returns a node that is true where |id| is finite.
NodeId is_finite(Graph& graph, NodeId id) {
  return graph.make(Op::less, graph.make(Op::abs, id),
                    graph.constant(std::numeric_limits<double>::infinity()));
}

// Returns 0 if all factors of `tangent` that are the same in every row are finite. Otherwise it returns
// infinity or NaN, as for the factor 1/c at c = 0. It returns `tangent` itself if that has too many factors
// and terms to look at.
NodeId zero_by_row(Graph& graph, NodeId tangent, Variation& varies) {
  constexpr std::size_t kMost = 200;
  std::set<std::pair<NodeId, bool>> seen;
  std::vector<Factor> next = {{tangent, false}};
  NodeId sum = graph.constant(0);
  while (!next.empty()) {
    const auto [id, divides] = next.back();
    next.pop_back();
    if (!seen.emplace(id, divides).second) continue;
    if (seen.size() > kMost) return tangent;
    const Node node = graph[id];
    if (!varies(id)) {
      const NodeId factor = divides ? graph.div(graph.constant(1), id) : id;
      if (node.op != Op::constant) sum = graph.add(sum, graph.make(Op::abs, factor));
      continue;
    }
    const bool splits = is_product(graph, id) ||
                        (!divides && (node.op == Op::add || node.op == Op::sub || node.op == Op::select));
    if (!splits) continue;
    if (node.op != Op::select) next.push_back({node.a, divides});
    if (node.op != Op::neg) next.push_back({node.b, divides != (node.op == Op::div)});
    // A choice by a number is that of the rule for powers, whose other side is meant for rows with a base of
    // 0.
    if (node.op == Op::select && is_truth(graph[node.a].op)) next.push_back({node.c, divides});
  }
  return graph.make(Op::select, is_finite(graph, sum), graph.constant(0), sum);
}

}  // namespace

NodeId tangent_of_exponent(Graph& graph, NodeId u, NodeId tangent, Variation& varies) {
  return graph.make(Op::select, is_finite(graph, u), tangent, zero_by_row(graph, tangent, varies));
}

}  // namespace nlsq::inline v0
