// Running error bounds of expressions.
#include "expression/rounding.hpp"

#include "expression/op_kinds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

namespace {

constexpr double kUnit = 0x1p-53;
// This is the possible error of a function of the C library or of a kernel, in units in the last place.
constexpr double kOfFunction = 4;
constexpr double kLeastMove = 0x1p-26;  // relative step of a difference quotient; a smaller one would be lost
                                        // in the rounding of the difference

// Estimates the effect on f of the bound of operand x by a difference quotient: |f(x ± h) - f(x)| bound / h.
template <class F>
double carried_over(const RoundedNumber& x, double value, F f) {
  if (x.bound == 0) return 0;
  const double h = std::max(x.bound, kLeastMove * std::fabs(x.value));
  double most = 0;
  for (const double moved : {x.value + h, x.value - h}) {
    const double change = std::fabs(f(moved) - value);
    if (std::isfinite(change)) most = std::max(most, change);
  }
  return most * (x.bound / h);
}

double bound_of_function(Op op, double value, const RoundedNumber& a, const RoundedNumber& b,
                         const RoundedNumber& c) {
  double bound = kOfFunction * kUnit * std::fabs(value);
  const int operands = arity(op);
  if (operands > 0)
    bound += carried_over(a, value, [&](double x) { return evaluate_op(op, x, b.value, c.value); });
  if (operands > 1)
    bound += carried_over(b, value, [&](double x) { return evaluate_op(op, a.value, x, c.value); });
  if (operands > 2)
    bound += carried_over(c, value, [&](double x) { return evaluate_op(op, a.value, b.value, x); });
  return bound;
}

}  // namespace

RoundedNumber rounded(Op op, const RoundedNumber& a, const RoundedNumber& b, const RoundedNumber& c) {
  const double value = evaluate_op(op, a.value, b.value, c.value);
  const double own = kUnit * std::fabs(value);
  switch (op) {
    case Op::add:
    case Op::sub: return {value, a.bound + b.bound + own};
    case Op::mul:
      return {value, std::fabs(a.value) * b.bound + std::fabs(b.value) * a.bound + a.bound * b.bound + own};
    case Op::div: return {value, (a.bound + std::fabs(value) * b.bound) / std::fabs(b.value) + own};
    case Op::neg:
    case Op::abs:
    case Op::copy: return {value, a.bound};
    // The branch taken is treated as given: the result of the other branch is not a rounding error.
    case Op::select: return {value, a.value != 0 ? b.bound : c.bound};
    case Op::min:
    case Op::max: return {value, std::max(a.bound, b.bound)};
    case Op::sign: return {value, 0};
    default: return {value, is_truth(op) ? 0 : bound_of_function(op, value, a, b, c)};
  }
}

std::vector<RoundedNumber> evaluate_rounded(const Graph& graph, std::span<const double> columns) {
  std::vector<RoundedNumber> numbers(graph.size());
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    switch (node.op) {
      case Op::constant: numbers[id].value = node.value; break;
      case Op::column: numbers[id].value = columns[node.index]; break;
      case Op::parameter:
      case Op::unexplored: numbers[id].value = std::numeric_limits<double>::quiet_NaN(); break;
      default: numbers[id] = rounded(node.op, numbers[node.a], numbers[node.b], numbers[node.c]);
    }
  }
  return numbers;
}

}  // namespace nlsq::inline v0
