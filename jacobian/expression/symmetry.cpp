// Implements is_even(): the parity of every node in turn, from those of its operands.
#include "expression/symmetry.hpp"

#include "expression/op_kinds.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

bool contains(std::span<const int> list, int value) { return std::ranges::find(list, value) != list.end(); }

// States how a value changes when the signs of the parameters change. The constant 0 is both even and odd.
// `zero` is true if the sign of a zero changes as the value does. This is not always so: s*x-s is odd, but at
// x = 1 it is 0 for both signs of s, and never -0. Functions that distinguish 0 from -0, such as 1/a and
// atan2(a, -1), have a known parity only if `zero` is true.
struct Parity {
  bool even = false, odd = false, zero = true;
};

constexpr Parity kEven{true, false}, kNeither{false, false, false};

// Treats the constant 0 as even only, because its sign does not change.
Parity strict(Parity a) { return {a.even, a.odd && !a.even, a.zero}; }

Parity product(Parity a, Parity b) {
  a = strict(a);
  b = strict(b);
  return {(a.even && b.even) || (a.odd && b.odd), (a.even && b.odd) || (a.odd && b.even), a.zero && b.zero};
}

// Returns the parity of an expression that has one of two values.
Parity either(Parity a, Parity b) {
  const bool even = a.even && b.even, odd = a.odd && b.odd;
  return {even, odd, a.zero && b.zero && (even || (!a.even && !b.even))};
}

Parity sum(Parity a, Parity b) {
  const Parity out = either(a, b);
  return {out.even, out.odd, out.even && out.zero};
}

Parity power(Parity base, Parity exponent, const Node& node) {
  if (node.op != Op::constant || node.value != std::floor(node.value) || std::isinf(node.value))
    return {base.even && exponent.even && base.zero, false, base.zero};
  return std::fmod(node.value, 2) == 0 ? Parity{base.even || base.odd, false} : base;
}

Parity of_one(Op op, Parity a) {
  if (is_odd_function(op)) return a;
  if (is_even_function(op)) return {a.even || a.odd, false};
  switch (op) {
    case Op::neg:
    case Op::copy: return a;
    case Op::logical_not: return {a.even || a.odd, false};
    case Op::gamma:
    case Op::digamma:
    case Op::trigamma: return {a.even && a.zero, false};  // infinite at 0 and -0, with opposite signs
    default: return {a.even, false, a.zero};
  }
}

Parity of_two(Op op, Parity a, Parity b, const Node& node, const Node& second) {
  const bool zeros = a.zero && b.zero;
  switch (op) {
    case Op::add:
    case Op::sub: return sum(a, b);
    case Op::mul: return node.a == node.b ? power(a, kEven, Node{.value = 2}) : product(a, b);
    case Op::div: return b.zero ? product(a, b) : kNeither;
    case Op::pow: return power(a, b, second);
    case Op::logical_and:
    case Op::logical_or:
    case Op::hypot: return {(a.even || a.odd) && (b.even || b.odd), false};
    case Op::atan2: return {zeros && a.even && b.even, zeros && strict(a).odd && b.even};
    case Op::wofz_re:
      return {(a.even || a.odd) && b.even, false, zeros};  // w(-a + ib) is the conjugate of w(a + ib)
    case Op::wofz_im: return {a.even && b.even, a.odd && b.even, zeros};
    case Op::equal:
    case Op::not_equal: return {(a.even && b.even) || (a.odd && b.odd), false};
    default: return {a.even && b.even, false, zeros};
  }
}

Parity of_node(const Graph& graph, const Node& node, const std::vector<Parity>& known,
               std::span<const int> flipped) {
  switch (node.op) {
    case Op::constant: return {true, node.value == 0};
    case Op::column: return kEven;
    case Op::parameter: {
      const bool odd = contains(flipped, static_cast<int>(node.index));
      return {!odd, odd};
    }
    case Op::unexplored: return kNeither;
    default: break;
  }
  switch (arity(node.op)) {
    case 1: return of_one(node.op, known[node.a]);
    case 2: return of_two(node.op, known[node.a], known[node.b], node, graph[node.b]);
    default: break;
  }
  const Parity condition = known[node.a];  // whether it is 0 does not depend on its sign
  if (node.op == Op::select && (condition.even || condition.odd)) return either(known[node.b], known[node.c]);
  return kNeither;
}

}  // namespace

bool is_even(const Graph& graph, NodeId root, std::span<const int> flipped) {
  std::vector<Parity> known(root + 1);
  for (NodeId id = 0; id <= root; ++id) known[id] = of_node(graph, graph[id], known, flipped);
  return known[root].even;
}

std::vector<int> signs_to_restore(const Evenness& is_even, std::span<const int> free,
                                  std::span<const int> linear, std::span<const double> start,
                                  std::span<const double> end) {
  std::vector<int> out;
  const auto wrong = [&](int j) {
    const auto at = static_cast<std::size_t>(j);
    return !contains(linear, j) && (start[at] < 0 ? end[at] > 0 : end[at] < 0);
  };
  for (const int j : free) {
    if (!wrong(j) || contains(out, j)) continue;
    if (is_even(std::array{j})) {
      out.push_back(j);
      continue;
    }
    for (const int k : free) {
      if (k == j || contains(out, k) || !(contains(linear, k) || wrong(k))) continue;
      if (!is_even(std::array{j, k})) continue;
      out.insert(out.end(), {j, k});
      break;
    }
  }
  return out;
}

}  // namespace nlsq::inline v0
