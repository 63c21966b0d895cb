// Makes seeded random expressions, which are built in a graph and also evaluated operation by operation as
// written. Tests check that simplification and compilation do not change their values.
#pragma once

#include <nlsq/graph.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace nlsq_test {

// The operations of random expressions. pow is excluded, because small powers become products that round
// differently. atan2 is excluded, because it distinguishes -0 from 0, which simplification does not.
inline const std::vector<nlsq::Op>& random_ops() {
  using nlsq::Op;
  static const std::vector<Op> ops = {
      Op::add,        Op::add,         Op::add,    Op::sub,        Op::sub,   Op::sub,       Op::mul,
      Op::mul,        Op::mul,         Op::mul,    Op::div,        Op::div,   Op::neg,       Op::neg,
      Op::neg,        Op::abs,         Op::sign,   Op::floor,      Op::sqrt,  Op::cbrt,      Op::exp,
      Op::log,        Op::sin,         Op::cos,    Op::tanh,       Op::atan,  Op::erf,       Op::min,
      Op::max,        Op::hypot,       Op::less,   Op::less_equal, Op::equal, Op::not_equal, Op::logical_and,
      Op::logical_or, Op::logical_not, Op::select, Op::select};
  return ops;
}

inline const std::vector<nlsq::Op>& smooth_ops() {
  using nlsq::Op;
  static const std::vector<Op> ops = {Op::add, Op::add, Op::sub,  Op::sub,  Op::mul,
                                      Op::mul, Op::mul, Op::div,  Op::neg,  Op::exp,
                                      Op::sin, Op::cos, Op::tanh, Op::atan, Op::erf};
  return ops;
}

struct RandomExpression {
  static constexpr int kColumns = 3, kParameters = 3;
  nlsq::Graph graph;
  std::vector<nlsq::NodeId> nodes;                  // operands to choose from; the last is the root
  std::vector<double> columns, parameters, values;  // values[i] is nodes[i] evaluated as written
  std::vector<std::uint8_t> tame;  // 1 if all values below it were finite and not close to underflow

  RandomExpression(std::uint64_t seed, int operations, const std::vector<nlsq::Op>& ops) : rng_(seed) {
    for (int i = 0; i < kColumns; ++i) columns.push_back(draw_value());
    for (int i = 0; i < kParameters; ++i) parameters.push_back(draw_value());
    for (int i = 0; i < kColumns; ++i) leaf(graph.column(i), columns[static_cast<std::size_t>(i)]);
    for (int i = 0; i < kParameters; ++i) leaf(graph.parameter(i), parameters[static_cast<std::size_t>(i)]);
    for (const double c : {0.0, 1.0, -1.0, 2.0, 0.5, -3.0, 0.7}) leaf(graph.constant(c), c);
    for (int i = 0; i < operations; ++i) grow(ops);
  }

  nlsq::NodeId root() const { return nodes.back(); }
  nlsq::NodeId any() { return nodes[pick(nodes.size())]; }
  std::size_t pick(std::size_t count) { return static_cast<std::size_t>(rng_() % count); }
  double draw_value() { return std::round(static_cast<double>(rng_() % 4000) - 2000) / 512.0 + 1e-3; }

 private:
  void leaf(nlsq::NodeId node, double value) {
    nodes.push_back(node);
    values.push_back(value);
    tame.push_back(1);
  }

  // Prefers later nodes as operands, so that expressions become deep.
  std::size_t operand() { return std::max(pick(nodes.size()), pick(nodes.size())); }

  void grow(const std::vector<nlsq::Op>& ops) {
    const nlsq::Op op = ops[pick(ops.size())];
    const std::size_t a = operand(), b = operand(), c = operand();
    const double value = nlsq::evaluate_op(op, values[a], values[b], values[c]);
    bool fine = std::isfinite(value) && (value == 0 || std::fabs(value) > 1e-200);
    const std::size_t used[] = {a, b, c};
    for (int i = 0; i < nlsq::arity(op); ++i) fine = fine && tame[used[i]];
    nodes.push_back(graph.make(op, nodes[a], nodes[b], nodes[c]));
    values.push_back(value);
    tame.push_back(fine ? 1 : 0);
  }

  std::mt19937_64 rng_;
};

}  // namespace nlsq_test
