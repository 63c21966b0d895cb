// Derivative rules of single operations, as graph nodes.
#include "expression/partials.hpp"

#include "expression/graph_walk.hpp"
#include "expression/op_kinds.hpp"
#include "expression/rewrite.hpp"

#include <nlsq/error.hpp>

#include <numbers>
#include <string>

namespace nlsq::inline v0 {

namespace {

constexpr double kTwoOverSqrtPi = 2 * std::numbers::inv_sqrtpi;

// Short names, so that the rules read like formulas.
struct Rules {
  Graph& g;
  NodeId f;  // the node itself
  NodeId a, b;
  Variation& varies;

  NodeId number(double value) const { return g.constant(value); }
  NodeId call(Op op, NodeId x) const { return g.make(op, x); }
  NodeId square(NodeId x) const { return g.mul(x, x); }
  static Partial times(NodeId node) { return {node, false}; }
  static Partial over(NodeId node) { return {node, true}; }

  // Returns sqrt((1 - a)(1 + a)), which does not cancel near |a| = 1.
  NodeId co_circle() const { return call(Op::sqrt, g.mul(g.sub(number(1), a), g.add(number(1), a))); }
  Partial elementary(Op op) const;
  Partial special(Op op) const;
  Partial power(int which) const;
  Partial wofz(bool real_part, int which) const;
  Partial two_arguments(Op op, int which) const;
};

Partial Rules::elementary(Op op) const {
  switch (op) {
    case Op::abs: return times(call(Op::sign, a));
    case Op::sqrt: return over(g.mul(number(2), f));
    case Op::cbrt: return over(g.mul(number(3), square(f)));
    case Op::exp: return times(f);
    case Op::expm1: return times(call(Op::exp, a));
    case Op::log: return over(a);
    case Op::log10: return over(g.mul(number(std::numbers::ln10), a));
    case Op::log2: return over(g.mul(number(std::numbers::ln2), a));
    case Op::log1p: return over(g.add(number(1), a));
    case Op::sin: return times(call(Op::cos, a));
    case Op::cos: return times(g.neg(call(Op::sin, a)));
    case Op::tan: return times(g.add(number(1), square(f)));
    case Op::asin: return over(co_circle());
    case Op::acos: return over(g.neg(co_circle()));
    case Op::atan: return over(g.add(number(1), square(a)));
    case Op::sinh: return times(call(Op::cosh, a));
    case Op::cosh: return times(call(Op::sinh, a));
    case Op::tanh: return times(g.mul(g.sub(number(1), f), g.add(number(1), f)));
    case Op::asinh: return over(call(Op::sqrt, g.add(number(1), square(a))));
    case Op::acosh: return over(call(Op::sqrt, g.mul(g.sub(a, number(1)), g.add(a, number(1)))));
    case Op::atanh: return over(g.mul(g.sub(number(1), a), g.add(number(1), a)));
    default: return special(op);
  }
}

// The rules are those of DLMF 5.2, 5.15 (gamma functions), 7.2 (error functions) and 10.6 (Bessel functions).
Partial Rules::special(Op op) const {
  switch (op) {
    case Op::erf: return times(g.mul(number(kTwoOverSqrtPi), call(Op::exp, g.neg(square(a)))));
    case Op::erfc: return times(g.mul(number(-kTwoOverSqrtPi), call(Op::exp, g.neg(square(a)))));
    case Op::erfcx: return times(g.sub(g.mul(number(2), g.mul(a, f)), number(kTwoOverSqrtPi)));
    case Op::gamma: return times(g.mul(f, call(Op::digamma, a)));
    case Op::lgamma: return times(call(Op::digamma, a));
    case Op::digamma: return times(call(Op::trigamma, a));
    case Op::besj0: return times(g.neg(call(Op::besj1, a)));
    case Op::besj1: {
      const NodeId away = g.sub(call(Op::besj0, a), g.div(f, a));
      return times(g.make(Op::select, a, away, number(0.5)));
    }
    default: throw Error(std::string("no derivative is known for ") + name(op));
  }
}

// The rules are d/da = b a^(b-1) and d/db = a^b log a, which counts as 0 where a = 0.
Partial Rules::power(int which) const {
  if (which == 1) {
    const NodeId away = g.mul(f, call(Op::log, a));
    return times(g[a].op == Op::constant ? away : g.make(Op::select, a, away, number(0)));
  }
  const NodeId exponent = g.sub(b, number(1));
  const NodeId lowered = g.make(Op::pow, a, exponent);
  // A second pow per row is expensive. If the exponent depends on no column, a^b / a uses the existing power,
  // and the value needed at a = 0, 0^(b-1), is one number per pass.
  const Node& power = g[lowered];
  const bool cheap =
      power.op != Op::pow || (g[power.b].op == Op::constant && is_half_power(g[power.b].value));
  if (cheap || varies(b)) return times(g.mul(b, lowered));
  const NodeId at_zero = g.mul(b, g.make(Op::pow, number(0), exponent));
  return times(g.make(Op::select, a, g.div(g.mul(b, f), a), at_zero));
}

// The rule is w'(z) = -2 z w(z) + 2i/sqrt(pi) (DLMF 7.10), with z = a + ib and w = u + iv.
Partial Rules::wofz(bool real_part, int which) const {
  const NodeId u = g.make(Op::wofz_re, a, b), v = g.make(Op::wofz_im, a, b);
  const NodeId re = g.mul(number(2), g.sub(g.mul(b, v), g.mul(a, u)));
  const NodeId im = g.sub(number(kTwoOverSqrtPi), g.mul(number(2), g.add(g.mul(a, v), g.mul(b, u))));
  if (which == 0) return times(real_part ? re : im);
  return times(real_part ? g.neg(im) : re);
}

Partial Rules::two_arguments(Op op, int which) const {
  switch (op) {
    case Op::pow: return power(which);
    case Op::hypot: {  // gives 0/1 at the origin
      const NodeId length = g.make(Op::select, f, f, number(1));
      return times(g.div(which == 0 ? a : b, length));
    }
    case Op::atan2: {
      const NodeId squared = g.add(square(a), square(b));
      return times(which == 0 ? g.div(b, squared) : g.neg(g.div(a, squared)));
    }
    case Op::fmod: {  // follows from fmod(a, b) = a - trunc(a/b) b
      if (which == 0) return times(number(1));
      const NodeId ratio = g.div(a, b);
      return times(g.neg(g.mul(call(Op::sign, ratio), call(Op::floor, call(Op::abs, ratio)))));
    }
    default: return wofz(op == Op::wofz_re, which);
  }
}

}  // namespace

bool Variation::operator()(NodeId id) {
  for (auto next = static_cast<NodeId>(flags_.size()); next <= id; ++next) {
    const Node& node = graph_[next];
    std::uint8_t flag = node.op == Op::column ? 1 : 0;
    for (const NodeId operand : Operands(node)) flag |= flags_[operand];
    flags_.push_back(flag);
  }
  return flags_[id] != 0;
}

DerivativeProducts::Factors DerivativeProducts::split(NodeId id) const {
  const NodeId one = g_.constant(1);
  if (!varies_(id)) return {id, one};
  const Node node = g_[id];
  if (node.op == Op::mul && !varies_(node.a)) return {node.a, node.b};
  if (node.op == Op::mul && !varies_(node.b)) return {node.b, node.a};
  return {one, id};
}

NodeId DerivativeProducts::product(NodeId a, NodeId b) const {
  const NodeId plain = g_.mul(a, b);
  if (!gather_ || g_[plain].op == Op::constant) return plain;
  if (g_[a].op == Op::neg) return g_.neg(product(g_[a].a, b));
  if (g_[b].op == Op::neg) return g_.neg(product(a, g_[b].a));
  const Factors of_a = split(a), of_b = split(b);
  return g_.mul(g_.mul(of_a.uniform, of_b.uniform), g_.mul(of_a.varying, of_b.varying));
}

NodeId DerivativeProducts::quotient(NodeId t, NodeId d, bool shared) const {
  if (g_.is_constant(t, 0)) return t;
  const bool reciprocal = shared || (varies_(t) && !varies_(d));
  return reciprocal ? product(t, g_.div(g_.constant(1), d)) : g_.div(t, d);
}

Partial partial_derivative(Graph& graph, NodeId node, int which, Variation& varies) {
  const Node f = graph[node];
  if (is_piecewise_constant(f.op)) return {graph.constant(0), false};
  const Rules rules{graph, node, f.a, f.b, varies};
  return arity(f.op) == 1 ? rules.elementary(f.op) : rules.two_arguments(f.op, which);
}

}  // namespace nlsq::inline v0
