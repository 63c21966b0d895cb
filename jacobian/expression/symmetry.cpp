// Implements is_even(): the parity of every node in turn, from those of its operands.
#include "expression/symmetry.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace nlsq::inline v0 {

namespace {

// How a value responds to the change of signs; 0 is both even and odd.
struct Parity {
  bool even = false, odd = false;
};

constexpr Parity kEven{true, false}, kNeither{};

Parity product(Parity a, Parity b) {
  return {(a.even && b.even) || (a.odd && b.odd), (a.even && b.odd) || (a.odd && b.even)};
}

Parity both(Parity a, Parity b) { return {a.even && b.even, a.odd && b.odd}; }

Parity power(Parity base, Parity exponent, const Node& node) {
  if (node.op != Op::constant || node.value != std::floor(node.value))
    return {base.even && exponent.even, false};
  return std::fmod(node.value, 2) == 0 ? Parity{base.even || base.odd, false} : base;
}

Parity of_one(Op op, Parity a) {
  switch (op) {
    case Op::neg:
    case Op::copy:
    case Op::sign:
    case Op::cbrt:
    case Op::sin:
    case Op::tan:
    case Op::asin:
    case Op::atan:
    case Op::sinh:
    case Op::tanh:
    case Op::asinh:
    case Op::atanh:
    case Op::erf:
    case Op::besj1: return a;
    case Op::logical_not:
    case Op::abs:
    case Op::cos:
    case Op::cosh:
    case Op::besj0: return {a.even || a.odd, false};
    default: return {a.even, false};
  }
}

Parity of_two(Op op, Parity a, Parity b, const Node& second) {
  switch (op) {
    case Op::add:
    case Op::sub: return both(a, b);
    case Op::mul:
    case Op::div: return product(a, b);
    case Op::pow: return power(a, b, second);
    case Op::logical_and:
    case Op::logical_or:
    case Op::hypot: return {(a.even || a.odd) && (b.even || b.odd), false};
    case Op::atan2: return {a.even && b.even, a.odd && b.even};
    case Op::wofz_re:
      return {(a.even || a.odd) && b.even, false};  // w(-a + ib) is the conjugate of w(a + ib)
    case Op::wofz_im: return {a.even && b.even, a.odd && b.even};
    case Op::equal:
    case Op::not_equal: return {(a.even && b.even) || (a.odd && b.odd), false};
    default: return {a.even && b.even, false};
  }
}

Parity of_node(const Graph& graph, const Node& node, const std::vector<Parity>& known,
               std::span<const int> flipped) {
  switch (node.op) {
    case Op::constant: return {true, node.value == 0};
    case Op::column: return kEven;
    case Op::parameter: {
      const bool odd = std::ranges::find(flipped, static_cast<int>(node.index)) != flipped.end();
      return {!odd, odd};
    }
    case Op::unexplored: return kNeither;
    default: break;
  }
  switch (arity(node.op)) {
    case 1: return of_one(node.op, known[node.a]);
    case 2: return of_two(node.op, known[node.a], known[node.b], graph[node.b]);
    default: break;
  }
  const Parity condition = known[node.a];  // whether it is 0 does not depend on its sign
  if (node.op == Op::select && (condition.even || condition.odd)) return both(known[node.b], known[node.c]);
  return kNeither;
}

bool contains(std::span<const int> list, int value) { return std::ranges::find(list, value) != list.end(); }

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
