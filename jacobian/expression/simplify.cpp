// Defines the simplification rules of Graph::make. Each is exact for every finite value up to the sign of a
// zero, except small integer powers (a few ulp) and x*0 = 0 (drops 0*inf). Signs move outward: an operand of
// *, / or an odd function is never a negation, nor is an operand of + or - (a + (-b) is a - b), and no
// factor, divisor or added constant is negative.
#include "expression/op_kinds.hpp"

#include <nlsq/graph.hpp>

#include <cmath>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

namespace {

constexpr int kLargestPower = 8;

// Returns true if a NaN operand always gives a NaN result.
bool spreads_nan(Op op) {
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div: return true;
    case Op::logical_not:
    case Op::pow:
    case Op::hypot:
    case Op::min:
    case Op::max: return false;
    default: return arity(op) == 1;
  }
}

// Returns true for a power of two with a normal reciprocal, because multiplication by it is exact.
bool is_power_of_two(double x) {
  int exponent = 0;
  return std::isnormal(x) && std::fabs(std::frexp(x, &exponent)) == 0.5 && std::isnormal(1 / x);
}

}  // namespace

NodeId Graph::fold(Op op, NodeId a, NodeId b, NodeId c) {
  const NodeId operands[] = {a, b, c};
  const int count = arity(op);
  bool constant_operands = true, unknown = false;
  double values[3] = {0, 0, 0};
  for (int i = 0; i < count; ++i) {
    const Node& node = nodes_[operands[i]];
    values[i] = node.value;
    if (node.op != Op::constant) constant_operands = false;
    if (node.op == Op::unexplored) unknown = true;
  }
  if (unknown && spreads_nan(op)) return unexplored();
  return constant_operands ? constant(evaluate_op(op, values[0], values[1], values[2])) : kNone;
}

NodeId Graph::simplify(Op op, NodeId a, NodeId b, NodeId c) {
  switch (op) {
    case Op::add: return simplify_add(a, b);
    case Op::sub: return simplify_sub(a, b);
    case Op::mul: return simplify_mul(a, b);
    case Op::div: return simplify_div(a, b);
    case Op::pow: return simplify_pow(a, b);
    case Op::min:
    case Op::max: return a == b ? a : kNone;
    case Op::logical_and:
    case Op::logical_or: return simplify_logic(op, a, b);
    case Op::select: return simplify_select(a, b, c);
    default: return arity(op) == 1 ? simplify_unary(op, a) : kNone;
  }
}

bool Graph::is_negative(NodeId id) const {
  const Node& node = nodes_[id];
  return node.op == Op::neg || (node.op == Op::constant && node.value < 0);
}

NodeId Graph::without_sign(NodeId id) {
  const Node node = nodes_[id];
  return node.op == Op::neg ? node.a : constant(std::fabs(node.value));
}

NodeId Graph::simplify_unary(Op op, NodeId a) {
  const Node inner = nodes_[a];
  switch (op) {
    case Op::neg:
      if (inner.op == Op::neg) return inner.a;
      return inner.op == Op::sub ? sub(inner.b, inner.a) : kNone;
    case Op::logical_not:
      if (inner.op == Op::equal) return make(Op::not_equal, inner.a, inner.b);
      if (inner.op == Op::not_equal) return make(Op::equal, inner.a, inner.b);
      return inner.op == Op::logical_not && is_truth(nodes_[inner.a].op) ? inner.a : kNone;
    case Op::abs:
      if (inner.op == Op::abs || inner.op == Op::sqrt || inner.op == Op::exp) return a;
      break;
    case Op::floor:
    case Op::ceil:
      if (inner.op == Op::floor || inner.op == Op::ceil) return a;
      break;
    default: break;
  }
  if (inner.op == Op::neg && is_even_function(op)) return make(op, inner.a);
  return inner.op == Op::neg && is_odd_function(op) ? neg(make(op, inner.a)) : kNone;
}

// If an operand is constant, it is `a`, because make() puts constants first.
NodeId Graph::simplify_add(NodeId a, NodeId b) {
  if (is_constant(a, 0)) return b;
  if (a == b) return mul(constant(2), a);
  const bool negative_a = is_negative(a), negative_b = is_negative(b);
  if (negative_a && negative_b) return neg(add(without_sign(a), without_sign(b)));
  if (negative_a) return sub(b, without_sign(a));
  return negative_b ? sub(a, without_sign(b)) : kNone;
}

NodeId Graph::simplify_sub(NodeId a, NodeId b) {
  if (is_constant(b, 0)) return a;
  if (is_constant(a, 0)) return neg(b);
  if (a == b) return constant(0);
  const bool negative_a = is_negative(a), negative_b = is_negative(b);
  if (negative_a && negative_b) return sub(without_sign(b), without_sign(a));
  if (negative_a) return neg(add(without_sign(a), b));
  return negative_b ? add(a, without_sign(b)) : kNone;
}

NodeId Graph::simplify_mul(NodeId a, NodeId b) {
  if (is_constant(a, 0)) return constant(0);
  if (is_constant(a, 1)) return b;
  if (is_negative(a) || is_negative(b)) {
    const bool flips = is_negative(a) != is_negative(b);
    const NodeId size = mul(is_negative(a) ? without_sign(a) : a, is_negative(b) ? without_sign(b) : b);
    return flips ? neg(size) : size;
  }
  const Node left = nodes_[a], right = nodes_[b];
  if (left.op == Op::constant && right.op == Op::mul && nodes_[right.a].op == Op::constant) {
    const double inner = nodes_[right.a].value, product = left.value * inner;
    const bool exact = (is_power_of_two(left.value) || is_power_of_two(inner)) && std::isnormal(product);
    if (exact) return mul(constant(product), right.b);
  }
  return kNone;
}

NodeId Graph::simplify_div(NodeId a, NodeId b) {
  if (is_constant(b, 1)) return a;
  if (is_negative(a) || is_negative(b)) {
    const bool flips = is_negative(a) != is_negative(b);
    const NodeId size = div(is_negative(a) ? without_sign(a) : a, is_negative(b) ? without_sign(b) : b);
    return flips ? neg(size) : size;
  }
  const Node divisor = nodes_[b];
  const bool exact = divisor.op == Op::constant && is_power_of_two(divisor.value);
  return exact ? mul(constant(1 / divisor.value), a) : kNone;
}

// Returns x^n as x^(n/2) x^(n - n/2). This takes as few products as repeated squaring, and the powers of a
// polynomial share them.
NodeId Graph::integer_power(NodeId base, int exponent) {
  if (exponent == 1) return base;
  const NodeId half = integer_power(base, exponent / 2);
  return mul(half, exponent % 2 == 0 ? half : integer_power(base, exponent - exponent / 2));
}

NodeId Graph::simplify_pow(NodeId a, NodeId b) {
  if (is_constant(a, 1)) return a;
  if (nodes_[b].op != Op::constant) return kNone;
  const double exponent = nodes_[b].value, size = std::fabs(exponent);
  if (exponent == 0) return constant(1);
  NodeId power = kNone;
  if (size == 0.5) power = make(Op::sqrt, a);
  if (size <= kLargestPower && size == std::floor(size)) power = integer_power(a, static_cast<int>(size));
  if (power == kNone) return kNone;
  return exponent > 0 ? power : div(constant(1), power);
}

NodeId Graph::simplify_logic(Op op, NodeId a, NodeId b) {
  if (a == b && is_truth(nodes_[a].op)) return a;
  if (nodes_[a].op != Op::constant) return kNone;
  const bool truth = nodes_[a].value != 0;  // NaN is true
  if (op == Op::logical_and && !truth) return constant(0);
  if (op == Op::logical_or && truth) return constant(1);
  return is_truth(nodes_[b].op) ? b : make(Op::not_equal, b, constant(0));
}

NodeId Graph::simplify_select(NodeId condition, NodeId yes, NodeId no) {
  const Node test = nodes_[condition];
  if (yes == no) return yes;
  if (test.op == Op::constant) return test.value != 0 ? yes : no;
  if (test.op == Op::logical_not) return make(Op::select, test.a, no, yes);
  if (test.op == Op::not_equal && is_constant(test.a, 0)) return make(Op::select, test.b, yes, no);
  if (test.op == Op::equal && is_constant(test.a, 0)) return make(Op::select, test.b, no, yes);
  const bool both = is_negative(yes) && is_negative(no);
  if (both || (is_negative(yes) && is_constant(no, 0)) || (is_constant(yes, 0) && is_negative(no))) {
    return neg(make(Op::select, condition, without_sign(yes), without_sign(no)));
  }
  if (is_truth(test.op) && is_constant(yes, 1) && is_constant(no, 0)) return condition;
  if (is_truth(test.op) && is_constant(yes, 0) && is_constant(no, 1)) return make(Op::logical_not, condition);
  return select_inside(condition, yes, no);
}

// If both sides apply the same function and differ in one operand, the function is applied once to the
// selected operand: f(u, w) or f(v, w) becomes f(u or v, w). Code that continues after a branch then gives
// the same graph as a choice inside an expression.
NodeId Graph::select_inside(NodeId condition, NodeId yes, NodeId no) {
  std::vector<Node> around;  // outermost first; `index` is the operand that differs
  for (;;) {
    const Node one = nodes_[yes];
    Node other = nodes_[no];
    const int count = arity(one.op);
    if (one.op != other.op || count == 0) break;
    const bool commutes = one.op == Op::add || one.op == Op::mul;
    if (commutes && (one.a == other.b || one.b == other.a)) std::swap(other.a, other.b);
    const NodeId left[] = {one.a, one.b, one.c}, right[] = {other.a, other.b, other.c};
    int differing = 0, place = 0;
    for (int i = 0; i < count; ++i) {
      if (left[i] == right[i]) continue;
      ++differing;
      place = i;
    }
    if (differing != 1) break;
    around.push_back(one);
    around.back().index = static_cast<std::uint32_t>(place);
    yes = left[place];
    no = right[place];
  }
  if (around.empty()) return kNone;
  NodeId node = make(Op::select, condition, yes, no);
  for (; !around.empty(); around.pop_back()) {
    Node& f = around.back();
    NodeId* const operands[] = {&f.a, &f.b, &f.c};
    *operands[f.index] = node;
    node = make(f.op, f.a, f.b, f.c);
  }
  return node;
}

}  // namespace nlsq::inline v0
