// Lowers a graph to the values of a tile program, and merges signs and products into other instructions.
#include "program/lowering.hpp"

#include "expression/rewrite.hpp"

#include <unordered_map>

namespace nlsq::inline v0 {

namespace {

bool has_half_powers(const Graph& graph) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].op == Op::pow && is_half_power(graph[graph[id].b].value)) return true;
  }
  return false;
}

class Lowering {
 public:
  Lowering(const Graph& graph, std::span<const NodeId> outputs) {
    result_.outputs.assign(outputs.begin(), outputs.end());
    const Graph copy = prepared(graph, result_.outputs);
    const auto varies = copy.depends_on_columns();
    const auto exact = exact_nodes(copy);
    for (NodeId id = 0; id < copy.size(); ++id) {
      const Node& node = copy[id];
      result_.values.push_back({.op = node.op,
                                .varies = varies[id] != 0,
                                .exact = exact[id] != 0,
                                .index = node.index,
                                .operands = {node.a, node.b, node.c},
                                .number = node.value});
    }
    for (const std::uint32_t output : result_.outputs) result_.values[output].is_output = true;
  }

  Lowered run() {
    const auto count = static_cast<std::uint32_t>(result_.values.size());
    count_uses();
    for (std::uint32_t id = 0; id < count; ++id) {
      if (value(id).varies) contract(id, &Lowering::is_scaled);
    }
    count_uses();
    for (std::uint32_t id = 0; id < count; ++id) {
      if (value(id).varies && value(id).op == Op::neg) sink_sign(id);
    }
    count_uses();
    for (std::uint32_t id = 0; id < count; ++id) {
      if (value(id).varies) contract(id, &Lowering::has_single_use);
    }
    count_uses();
    return std::move(result_);
  }

 private:
  LoweredValue& value(std::uint32_t id) { return result_.values[id]; }

  // Counts the uses of each value, but only by values that an output needs.
  void count_uses() {
    for (auto& v : result_.values) v.uses = 0;
    for (std::uint32_t id = static_cast<std::uint32_t>(result_.values.size()); id-- > 0;) {
      const LoweredValue& v = value(id);
      if (!v.varies || (v.uses == 0 && !v.is_output)) continue;
      for (int i = 0; i < arity(v.op); ++i) ++value(v.operands[i]).uses;
    }
  }

  bool has_single_use(std::uint32_t id) {
    return value(id).varies && value(id).uses == 1 && !value(id).is_output;
  }

  std::uint32_t append(LoweredValue v) {
    result_.values.push_back(v);
    return static_cast<std::uint32_t>(result_.values.size() - 1);
  }

  std::uint32_t negated_uniform(std::uint32_t id) {
    if (value(id).op == Op::neg) return value(id).operands[0];
    const auto [place, added] = negated_.try_emplace(id, 0);
    if (added) {
      const bool constant = value(id).op == Op::constant;
      place->second = append(constant ? LoweredValue{.op = Op::constant, .number = -value(id).number}
                                      : LoweredValue{.op = Op::neg, .operands = {id, 0, 0}});
    }
    return place->second;
  }

  void become(std::uint32_t id, Op op, std::uint32_t a, std::uint32_t b, std::uint32_t c = 0) {
    value(id).op = op;
    value(id).operands[0] = a, value(id).operands[1] = b, value(id).operands[2] = c;
  }

  // Moves a sign into its operand. -(u*x), -(u/x), -(x/u) and -(u+x) with a uniform u cost nothing extra,
  // because u is negated once per pass. Any other product is formed with its sign, by subtraction from zero.
  void sink_sign(std::uint32_t id) {
    const std::uint32_t inner = value(id).operands[0];
    const LoweredValue v = value(inner);
    // If other values need the product too, computing it again costs as little as changing its sign.
    if (!has_single_use(inner) && !(v.op == Op::mul && is_scaled(inner))) return;
    const std::uint32_t a = v.operands[0], b = v.operands[1];
    const bool uniform_a = !value(a).varies, uniform_b = arity(v.op) > 1 && !value(b).varies;
    if (v.op == Op::mul || v.op == Op::div) {
      if (uniform_a) return become(id, v.op, negated_uniform(a), b);
      if (uniform_b) return become(id, v.op, a, negated_uniform(b));
      if (v.op == Op::mul && (negate_factor(a) || negate_factor(b))) return become(id, Op::mul, a, b);
      if (v.op == Op::mul) return become(id, Op::fnma, a, b, zero());
    }
    if (v.op != Op::add) return;
    if (uniform_a) return become(id, Op::sub, negated_uniform(a), b);
    if (uniform_b) return become(id, Op::sub, negated_uniform(b), a);
  }

  // Negates u*x by negating u, if the product is used only once.
  bool negate_factor(std::uint32_t id) {
    const LoweredValue v = value(id);
    if (v.op != Op::mul || !has_single_use(id)) return false;
    const std::uint32_t a = v.operands[0], b = v.operands[1];
    if (value(a).varies && value(b).varies) return negate_factor(a) || negate_factor(b);
    if (!value(a).varies) become(id, Op::mul, negated_uniform(a), b);
    else become(id, Op::mul, a, negated_uniform(b));
    return true;
  }

  std::uint32_t zero() {
    if (zero_ == 0) zero_ = append({.op = Op::constant, .number = 0});
    return zero_;
  }

  // Returns true for u*x. As part of a sum it costs no more than the sum, even if other values need it too.
  bool is_scaled(std::uint32_t id) {
    return value(id).varies && !value(id).is_output &&
           (!value(value(id).operands[0]).varies || !value(value(id).operands[1]).varies);
  }

  // Merges a product for which `serves` is true into the sum that uses it. The product is then not rounded,
  // so no sum is touched whose roundings decide where the model jumps.
  void contract(std::uint32_t id, bool (Lowering::*serves)(std::uint32_t)) {
    const LoweredValue v = value(id);
    if (v.exact) return;
    if (v.op != Op::add && v.op != Op::sub) return;
    const std::uint32_t a = v.operands[0], b = v.operands[1];
    const bool product_a = value(a).op == Op::mul && (this->*serves)(a);
    const bool product_b = value(b).op == Op::mul && (this->*serves)(b);
    if (product_a) {
      const auto& p = value(a).operands;
      become(id, v.op == Op::add ? Op::fma : Op::fms, p[0], p[1], b);
    } else if (product_b) {
      const auto& p = value(b).operands;
      become(id, v.op == Op::add ? Op::fma : Op::fnma, p[0], p[1], a);
    }
  }

  Lowered result_;
  std::unordered_map<std::uint32_t, std::uint32_t> negated_;
  std::uint32_t zero_ = 0;  // 0: not created yet; value 0 exists before it
};

}  // namespace

// The numbering depends only on structure, so that equal expressions give the same program however they were
// built.
Graph prepared(const Graph& graph, std::vector<NodeId>& outputs) {
  Graph copy;
  outputs = copy.adopt(graph, outputs);
  if (has_half_powers(copy)) {
    const Graph expanded = expand_half_powers(copy, outputs);
    copy = Graph();
    outputs = copy.adopt(expanded, outputs);
  }
  for (int round = 0; round < 2; ++round) {  // the second round handles quotients that became products in the
                                             // first
    const Graph rewritten = rewrite(copy, outputs);
    copy = Graph();
    outputs = copy.adopt(rewritten, outputs);
  }
  return copy;
}

Lowered lower(const Graph& graph, std::span<const NodeId> outputs) { return Lowering(graph, outputs).run(); }

}  // namespace nlsq::inline v0
