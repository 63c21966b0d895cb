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

namespace {

bool is_exponential(const Graph& graph, NodeId id) { return graph[id].op == Op::exp; }

// Returns true if the node is e^u, or a product of it.
bool is_scaled_exponential(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  return is_exponential(graph, id) ||
         (node.op == Op::mul && (is_exponential(graph, node.a) || is_exponential(graph, node.b)));
}

// Returns the parts of b = c + s e^u, c - s e^u or expm1(u), which are (∂b/∂u)/b = 1 - c/b and (∂b/∂s)/b.
// Both stay finite where e^u overflows.
std::vector<RelativeChange> changes_of_sum(Graph& graph, NodeId b) {
  const Node whole = graph[b];
  const NodeId one = graph.constant(1);
  if (whole.op == Op::expm1) return {{whole.a, graph.add(one, graph.div(one, b))}};
  if (whole.op != Op::add && whole.op != Op::sub) return {};
  const bool constant_first = graph[whole.a].op == Op::constant;
  const NodeId constant = constant_first ? whole.a : whole.b, term = constant_first ? whole.b : whole.a;
  if (graph[constant].op != Op::constant || !is_scaled_exponential(graph, term)) return {};
  const double sign_of_term = whole.op == Op::sub && constant_first ? -1 : 1;
  const double sign_of_constant = whole.op == Op::sub && !constant_first ? -1 : 1;
  const NodeId c = graph.constant(sign_of_constant * graph[constant].value);
  const Node scaled = graph[term];
  const NodeId e = scaled.op == Op::exp ? term : is_exponential(graph, scaled.a) ? scaled.a : scaled.b;
  std::vector<RelativeChange> out = {{graph[e].a, graph.sub(one, graph.div(c, b))}};
  if (e == term) return out;
  const NodeId scale = e == scaled.a ? scaled.b : scaled.a;
  const NodeId signed_scale = sign_of_term < 0 ? graph.neg(scale) : scale;
  out.push_back({scale, graph.div(graph.constant(sign_of_term), graph.add(graph.div(c, e), signed_scale))});
  return out;
}

// This is a factor or divisor of a product.
struct Factor {
  NodeId node;
  bool divides;
};

// Adds the factors of a product that are the same in every row. Returns false if another factor is active.
bool add_factors(const Graph& graph, Factor of, Variation& varies, const IsActive& active,
                 std::vector<Factor>& out) {
  const Node node = graph[of.node];
  if (!varies(of.node)) out.push_back(of);
  if (!varies(of.node) || !active(of.node)) return true;
  if (node.op == Op::neg) return add_factors(graph, {node.a, of.divides}, varies, active, out);
  if (node.op != Op::mul && node.op != Op::div) return false;
  return add_factors(graph, {node.a, of.divides}, varies, active, out) &&
         add_factors(graph, {node.b, of.divides != (node.op == Op::div)}, varies, active, out);
}

bool is_product(const Graph& graph, NodeId id) {
  const Op op = graph[id].op;
  return op == Op::mul || op == Op::div || op == Op::neg;
}

// Returns the parts of (B^p)'/B^p: p u'/u for a factor u of B, and -p u'/u for a divisor.
std::vector<RelativeChange> changes_of_product(Graph& graph, NodeId base, NodeId exponent, Variation& varies,
                                               const IsActive& active) {
  std::vector<Factor> factors;
  if (!is_product(graph, base) || !varies(base)) return {};
  if (!add_factors(graph, {base, false}, varies, active, factors)) return {};
  std::vector<RelativeChange> out;
  for (const Factor& factor : factors) {
    if (!active(factor.node)) continue;
    const NodeId change = graph.div(exponent, factor.node);
    out.push_back({factor.node, factor.divides ? graph.neg(change) : change});
  }
  return out;
}

// Returns the parts p B'/B and p' log B of (B^p)'/B^p. For a product B, the last part counts as 0 where B is
// 0.
std::vector<RelativeChange> changes_of_power(Graph& graph, NodeId power, Variation& varies,
                                             const IsActive& active) {
  const NodeId base = graph[power].a, exponent = graph[power].b;
  std::vector<RelativeChange> out = changes_of_sum(graph, base);
  if (out.empty() && !is_steep_at_zero(graph, power)) return out;
  const NodeId logarithm = graph.make(Op::log, base);
  if (!out.empty()) {
    for (RelativeChange& part : out) part.factor = graph.mul(exponent, part.factor);
    out.push_back({exponent, graph.constant(1), logarithm});
    return out;
  }
  out = changes_of_product(graph, base, exponent, varies, active);
  if (!out.empty()) out.push_back({exponent, graph.make(Op::select, base, logarithm, graph.constant(0))});
  return out;
}

// Returns the relative changes of b = c + B^p, c - B^p or B^p - c, where B is a product, as in 1 + (x/k)^h.
// Each of the two terms of b contributes its own relative change, multiplied by the term's share of b. These
// shares are computed so that they are finite even where the power is 0 or overflows.
std::vector<RelativeChange> changes_of_raised_sum(Graph& graph, NodeId b, Variation& varies,
                                                  const IsActive& active) {
  const Node whole = graph[b];
  if (whole.op != Op::add && whole.op != Op::sub) return {};
  const bool constant_first = graph[whole.a].op == Op::constant;
  const NodeId constant = constant_first ? whole.a : whole.b, power = constant_first ? whole.b : whole.a;
  if (graph[constant].op != Op::constant || graph[power].op != Op::pow) return {};
  if (!is_product(graph, graph[power].a)) return {};
  const NodeId one = graph.constant(1), ratio = graph.div(constant, power);
  const NodeId share = graph.div(one, whole.op == Op::add ? graph.add(one, ratio) : graph.sub(one, ratio));
  std::vector<RelativeChange> out = changes_of_power(graph, power, varies, active);
  for (RelativeChange& part : out) part.factor = graph.mul(part.factor, share);
  return out;
}

struct SignedNode {
  NodeId node;
  bool negative;
};

SignedNode without_neg(const Graph& graph, SignedNode of) {
  while (graph[of.node].op == Op::neg) of = {graph[of.node].a, !of.negative};
  return of;
}

// Adds the parts of a term e^v or s e^v of an exponent. Returns false if the term has another form.
bool add_exponential(Graph& graph, SignedNode of, std::vector<RelativeChange>& out) {
  of = without_neg(graph, of);
  std::optional<NodeId> scale;
  NodeId e = of.node;
  if (const Node term = graph[e]; term.op == Op::mul) {
    const SignedNode a = without_neg(graph, {term.a, false}), b = without_neg(graph, {term.b, false});
    const bool first = is_exponential(graph, a.node);
    e = first ? a.node : b.node;
    scale = first ? term.b : term.a;
    of.negative = of.negative != (first ? a : b).negative;
  }
  if (!is_exponential(graph, e)) return false;
  const NodeId one = graph.constant(of.negative ? -1 : 1);
  const NodeId by_exponent = !scale ? one : of.negative ? graph.neg(*scale) : *scale;
  out.push_back({graph[e].a, by_exponent, e});
  if (scale) out.push_back({*scale, one, e});
  return true;
}

// Returns the parts of (e^u)'/e^u = u', where u is t + s e^v, t - s e^v, s e^v ...
std::vector<RelativeChange> changes_of_exponential(Graph& graph, NodeId u) {
  std::vector<RelativeChange> out;
  const SignedNode whole = without_neg(graph, {u, false});
  if (add_exponential(graph, whole, out)) return out;
  const Node sum = graph[whole.node];
  if (sum.op != Op::add && sum.op != Op::sub) return {};
  const SignedNode terms[] = {{sum.a, whole.negative}, {sum.b, whole.negative != (sum.op == Op::sub)}};
  bool any = false;
  for (const SignedNode& term : terms) {
    if (add_exponential(graph, term, out)) any = true;
    else out.push_back({term.node, graph.constant(term.negative ? -1 : 1)});
  }
  return any ? out : std::vector<RelativeChange>();
}

}  // namespace

bool is_steep_at_zero(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  if (node.op == Op::sqrt || node.op == Op::cbrt) return true;
  return node.op == Op::pow && !(graph[node.b].op == Op::constant && graph[node.b].value >= 1);
}

std::vector<RelativeChange> relative_changes(Graph& graph, NodeId f, Variation& varies,
                                             const IsActive& active) {
  const Node node = graph[f];
  if (node.op == Op::exp) return changes_of_exponential(graph, node.a);
  if (node.op == Op::pow) return changes_of_power(graph, f, varies, active);
  if (node.op == Op::sqrt || node.op == Op::cbrt) {
    const NodeId exponent = graph.constant(node.op == Op::sqrt ? 0.5 : 1.0 / 3);
    return changes_of_product(graph, node.a, exponent, varies, active);
  }
  return {};
}

bool needs_tangents(const Graph& graph, NodeId id, Variation& varies, const IsActive& active) {
  const NodeId base = graph[id].a;
  std::vector<Factor> factors;
  return is_steep_at_zero(graph, id) && is_product(graph, base) && varies(base) && active(base) &&
         !add_factors(graph, {base, false}, varies, active, factors);
}

std::vector<RelativeChange> changes_of_denominator(Graph& graph, NodeId b, Variation& varies,
                                                   const IsActive& active) {
  std::vector<RelativeChange> out = changes_of_sum(graph, b);
  if (out.empty()) out = changes_of_raised_sum(graph, b, varies, active);
  return out.empty() ? relative_changes(graph, b, varies, active) : out;
}

NodeId product_with_growing(Graph& graph, NodeId w, NodeId growing) {
  return graph.make(Op::select, w, graph.mul(w, growing), graph.constant(0));
}

Partial partial_derivative(Graph& graph, NodeId node, int which, Variation& varies) {
  const Node f = graph[node];
  if (is_piecewise_constant(f.op)) return {graph.constant(0), false};
  const Rules rules{graph, node, f.a, f.b, varies};
  return arity(f.op) == 1 ? rules.elementary(f.op) : rules.two_arguments(f.op, which);
}

}  // namespace nlsq::inline v0
