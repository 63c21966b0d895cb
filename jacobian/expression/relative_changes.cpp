// Relative changes: derivative rules for powers, exponentials and quotients that are right where a number
// overflows or is 0, so that the usual rule would multiply 0 by infinity.
#include "expression/graph_walk.hpp"
#include "expression/partials.hpp"

#include <utility>

namespace nlsq::inline v0 {

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

namespace {

// Returns true for e^u, and for v^u if v is the same in every row.
bool is_exponential(const Graph& graph, NodeId id, Variation& varies) {
  const Node& node = graph[id];
  return node.op == Op::exp || (node.op == Op::pow && varies(node.b) && !varies(node.a));
}

// Returns true for an exponential or a product with it as a factor.
bool is_scaled_exponential(const Graph& graph, NodeId id, Variation& varies) {
  const Node& node = graph[id];
  return is_exponential(graph, id, varies) || (node.op == Op::mul && (is_exponential(graph, node.a, varies) ||
                                                                      is_exponential(graph, node.b, varies)));
}

// Returns the part by u of a term `factor` * e, where e is e^u or v^u: u', or u' log v. A v of 0 has no
// logarithm; its part counts as 0.
RelativeChange part_by_exponent(Graph& graph, NodeId e, NodeId factor, std::optional<NodeId> growing) {
  const Node f = graph[e];
  if (f.op == Op::exp) return {f.a, factor, growing, true};
  const NodeId logarithm = graph.make(Op::select, f.a, graph.make(Op::log, f.a), graph.constant(0));
  return {f.b, graph.mul(factor, logarithm), growing, true};
}

// Adds the part by v of c + s v^u, which is u s v^(u-1) / (c + s v^u). Both sides of the fraction are divided
// by v^(u-1), because v may be 0 and v^u may overflow.
void add_part_by_base(Graph& graph, NodeId c, NodeId s, NodeId e, std::vector<RelativeChange>& out) {
  const Node f = graph[e];
  if (f.op == Op::exp || graph[f.a].op == Op::constant) return;
  const NodeId inverse = graph.make(Op::pow, f.a, graph.sub(graph.constant(1), f.b));
  out.push_back({f.a, graph.div(s, graph.add(graph.mul(c, inverse), graph.mul(s, f.a))), f.b});
}

// Returns the parts of b = c + s e, c - s e, expm1(u), cosh(u) or sinh(u), where e is an exponential. For
// those of c + s e^u these are (∂b/∂u)/b = 1 - c/b and (∂b/∂s)/b. All stay finite where b overflows.
std::vector<RelativeChange> changes_of_sum(Graph& graph, NodeId b, Variation& varies) {
  const Node whole = graph[b];
  const NodeId one = graph.constant(1);
  if (whole.op == Op::expm1) return {{whole.a, graph.add(one, graph.div(one, b)), {}, true}};
  if (whole.op == Op::cosh || whole.op == Op::sinh) {
    const NodeId ratio = graph.make(Op::tanh, whole.a);
    return {{whole.a, whole.op == Op::cosh ? ratio : graph.div(one, ratio), {}, true}};
  }
  if (whole.op != Op::add && whole.op != Op::sub) return {};
  const bool constant_first = graph[whole.a].op == Op::constant;
  const NodeId constant = constant_first ? whole.a : whole.b, term = constant_first ? whole.b : whole.a;
  if (graph[constant].op != Op::constant || !is_scaled_exponential(graph, term, varies)) return {};
  const Node scaled = graph[term];
  const NodeId e = is_exponential(graph, term, varies)       ? term
                   : is_exponential(graph, scaled.a, varies) ? scaled.a
                                                             : scaled.b;
  const double sign_of_term = whole.op == Op::sub && constant_first ? -1 : 1;
  const double sign_of_constant = whole.op == Op::sub && !constant_first ? -1 : 1;
  const NodeId c = graph.constant(sign_of_constant * graph[constant].value);
  std::vector<RelativeChange> out;
  out.push_back(part_by_exponent(graph, e, graph.sub(one, graph.div(c, b)), {}));
  const NodeId scale = e == term ? one : e == scaled.a ? scaled.b : scaled.a;
  const NodeId signed_scale = sign_of_term < 0 ? graph.neg(scale) : scale;
  add_part_by_base(graph, c, signed_scale, e, out);
  if (e == term) return out;
  out.push_back({scale, graph.div(graph.constant(sign_of_term), graph.add(graph.div(c, e), signed_scale))});
  return out;
}

// Returns the parts of (B^p)'/B^p for the factors of a product B: p u'/u for a factor u, and -p u'/u for a
// divisor. Returns nothing if B is no such product.
std::optional<std::vector<RelativeChange>> changes_of_product(Graph& graph, NodeId base, NodeId exponent,
                                                              Variation& varies, const IsActive& active) {
  std::vector<Factor> factors;
  if (!is_product(graph, base) || !varies(base)) return std::nullopt;
  if (!add_factors(graph, {base, false}, varies, active, factors)) return std::nullopt;
  std::vector<RelativeChange> out;
  for (const Factor& factor : factors) {
    if (!active(factor.node)) continue;
    const NodeId change = graph.div(exponent, factor.node);
    out.push_back({factor.node, factor.divides ? graph.neg(change) : change});
  }
  return out;
}

// Returns true if a product is divided by something that may be 0 in some row, as K/x is.
bool may_overflow(const Graph& graph, NodeId product, Variation& varies) {
  const Node node = graph[product];
  if (node.op == Op::div && varies(node.b)) return true;
  return is_product(graph, product) &&
         (may_overflow(graph, node.a, varies) ||
          (node.op == Op::mul && node.a != node.b && may_overflow(graph, node.b, varies)));
}

// Returns the parts p B'/B and p' log B of (B^p)'/B^p. For a product B, the last part counts as 0 where B is
// 0.
std::vector<RelativeChange> changes_of_power(Graph& graph, NodeId power, Variation& varies,
                                             const IsActive& active) {
  const NodeId base = graph[power].a, exponent = graph[power].b;
  std::vector<RelativeChange> out = changes_of_sum(graph, base, varies);
  if (out.empty() && !is_steep_at_zero(graph, power)) return out;
  const NodeId logarithm = graph.make(Op::log, base);
  if (!out.empty()) {
    for (RelativeChange& part : out) part.factor = graph.mul(exponent, part.factor);
    out.push_back({exponent, graph.constant(1), logarithm});
    return out;
  }
  auto factors = changes_of_product(graph, base, exponent, varies, active);
  if (!factors || (factors->empty() && !active(exponent))) return {};
  out = *std::move(factors);
  const NodeId bounded = graph.make(Op::select, base, logarithm, graph.constant(0));
  if (may_overflow(graph, base, varies)) out.push_back({exponent, graph.constant(1), bounded});
  else out.push_back({exponent, bounded});
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

// Adds the parts of (s e)'/b = (s' + s e'/e) e/b, where e is an exponential and `share` is e/b. Returns false
// if the term has another form, or is v^u with an active v.
bool add_term(Graph& graph, SignedNode of, const std::function<NodeId(NodeId)>& share, Variation& varies,
              const IsActive& active, std::vector<RelativeChange>& out) {
  of = without_neg(graph, of);
  std::optional<NodeId> scale;
  NodeId e = of.node;
  if (const Node term = graph[e]; term.op == Op::mul) {
    const SignedNode a = without_neg(graph, {term.a, false}), b = without_neg(graph, {term.b, false});
    const bool first = is_exponential(graph, a.node, varies);
    e = first ? a.node : b.node;
    scale = first ? term.b : term.a;
    of.negative = of.negative != (first ? a : b).negative;
  }
  if (!is_exponential(graph, e, varies) || (graph[e].op == Op::pow && active(graph[e].a))) return false;
  const NodeId one = graph.constant(of.negative ? -1 : 1);
  const NodeId by_exponent = !scale ? one : of.negative ? graph.neg(*scale) : *scale;
  out.push_back(part_by_exponent(graph, e, by_exponent, share(e)));
  if (scale) out.push_back({*scale, one, share(e)});
  return true;
}

// Adds the terms of a sum, or the node itself. Sums within sums are split up to this depth.
void add_terms(const Graph& graph, SignedNode of, int depth, std::vector<SignedNode>& out) {
  of = without_neg(graph, of);
  const Node node = graph[of.node];
  if (depth == 0 || (node.op != Op::add && node.op != Op::sub)) return out.push_back(of);
  add_terms(graph, {node.a, of.negative}, depth - 1, out);
  add_terms(graph, {node.b, of.negative != (node.op == Op::sub)}, depth - 1, out);
}

// Returns the parts of b'/d, where b is a sum that contains an exponential, as t + s e^v or e^v + e^w. d is 1
// if `divisor` has no value.
std::vector<RelativeChange> changes_of_terms(Graph& graph, NodeId b, std::optional<NodeId> divisor,
                                             Variation& varies, const IsActive& active) {
  const auto share = [&](NodeId e) { return divisor ? graph.div(e, *divisor) : e; };
  std::vector<SignedNode> terms;
  add_terms(graph, {b, false}, 3, terms);
  std::vector<RelativeChange> out;
  bool any = false;
  for (const SignedNode& term : terms) {
    const NodeId one = graph.constant(term.negative ? -1 : 1);
    if (add_term(graph, term, share, varies, active, out)) any = true;
    else if (divisor) out.push_back({term.node, one, share(graph.constant(1))});
    else out.push_back({term.node, one, {}, true});
  }
  return any ? out : std::vector<RelativeChange>();
}

}  // namespace

bool is_steep_at_zero(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  if (node.op == Op::sqrt || node.op == Op::cbrt) return true;
  return node.op == Op::pow && !(graph[node.b].op == Op::constant && graph[node.b].value >= 1);
}

bool base_may_vanish(const Graph& graph, NodeId power, Variation& varies) {
  const Node& f = graph[power];
  if (f.op != Op::pow || (graph[f.b].op == Op::constant && graph[f.b].value < 0)) return false;
  const Node& base = graph[f.a];
  if (base.op == Op::expm1 || base.op == Op::sinh) return varies(f.a);
  if (base.op != Op::sub && base.op != Op::add) return false;
  const bool constant_first = graph[base.a].op == Op::constant;
  const NodeId term = constant_first ? base.b : base.a;
  if (!constant_first && graph[base.b].op != Op::constant) return false;
  if (!is_scaled_exponential(graph, term, varies)) return false;
  if (base.op == Op::sub) return true;
  // The sum 1 + q e^(-kx) of growth curves counts as positive, which saves operations.
  const Node& scaled = graph[term];
  return scaled.op == Op::mul && graph[scaled.a].op != Op::exp && graph[scaled.b].op != Op::exp;
}

std::vector<RelativeChange> relative_changes(Graph& graph, NodeId f, Variation& varies,
                                             const IsActive& active) {
  const Node node = graph[f];
  if (node.op == Op::exp) return changes_of_terms(graph, node.a, {}, varies, active);
  if (node.op == Op::pow) {
    // With a positive constant exponent the usual rule is right at a base of 0, and the power is infinite
    // where its base is.
    if (graph[node.b].op == Op::constant && base_may_vanish(graph, f, varies)) return {};
    return changes_of_power(graph, f, varies, active);
  }
  if (node.op == Op::sqrt || node.op == Op::cbrt) {
    const NodeId exponent = graph.constant(node.op == Op::sqrt ? 0.5 : 1.0 / 3);
    return changes_of_product(graph, node.a, exponent, varies, active)
        .value_or(std::vector<RelativeChange>());
  }
  return {};
}

bool needs_tangents(const Graph& graph, NodeId id, Variation& varies, const IsActive& active) {
  const NodeId base = graph[id].a;
  std::vector<Factor> factors;
  if (base_may_vanish(graph, id, varies) && active(base)) return true;
  return is_steep_at_zero(graph, id) && is_product(graph, base) && varies(base) && active(base) &&
         !add_factors(graph, {base, false}, varies, active, factors);
}

namespace {

// Returns the parts of b'/b for a denominator b (see changes_of_denominator). Products within products are
// looked at up to this depth.
std::vector<RelativeChange> changes_of_divisor(Graph& graph, NodeId b, Variation& varies,
                                               const IsActive& active, int depth);

// Returns the parts where b is a product of such denominators and other factors, as in x^5 (exp(u) - 1) or
// cosh(u)^2.
std::vector<RelativeChange> changes_of_factors(Graph& graph, NodeId b, Variation& varies,
                                               const IsActive& active, int depth) {
  const Node whole = graph[b];
  if (whole.op != Op::mul || depth == 0) return {};
  std::vector<RelativeChange> out = changes_of_divisor(graph, whole.a, varies, active, depth - 1);
  if (whole.a == whole.b) {
    for (RelativeChange& part : out) part.factor = graph.mul(graph.constant(2), part.factor);
    return out;
  }
  std::vector<RelativeChange> more = changes_of_divisor(graph, whole.b, varies, active, depth - 1);
  if (out.empty() && more.empty()) return {};
  const auto other = [&](NodeId factor) {
    if (active(factor)) more.push_back({factor, graph.div(graph.constant(1), factor)});
  };
  if (out.empty()) other(whole.a);
  if (more.empty()) other(whole.b);
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

std::vector<RelativeChange> changes_of_divisor(Graph& graph, NodeId b, Variation& varies,
                                               const IsActive& active, int depth) {
  if (!active(b)) return {};
  if (graph[b].op == Op::neg) return changes_of_divisor(graph, graph[b].a, varies, active, depth);
  std::vector<RelativeChange> out = changes_of_sum(graph, b, varies);
  if (out.empty()) out = changes_of_raised_sum(graph, b, varies, active);
  if (out.empty())
    out = graph[b].op == Op::pow ? changes_of_power(graph, b, varies, active)
                                 : relative_changes(graph, b, varies, active);
  if (out.empty() && is_exponential(graph, b, varies)) {
    out.push_back(part_by_exponent(graph, b, graph.constant(1), {}));
    add_part_by_base(graph, graph.constant(0), graph.constant(1), b, out);
  }
  const Op op = graph[b].op;
  if (out.empty() && (op == Op::add || op == Op::sub)) out = changes_of_terms(graph, b, b, varies, active);
  return out.empty() ? changes_of_factors(graph, b, varies, active, depth) : out;
}

}  // namespace

std::vector<RelativeChange> changes_of_denominator(Graph& graph, NodeId b, Variation& varies,
                                                   const IsActive& active) {
  return changes_of_divisor(graph, b, varies, active, 6);
}

NodeId product_with_growing(Graph& graph, NodeId w, NodeId growing) {
  return graph.make(Op::select, w, graph.mul(w, growing), graph.constant(0));
}

}  // namespace nlsq::inline v0
