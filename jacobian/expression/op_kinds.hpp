// Properties of single operations, which hold exactly, rounding included, and their costs.
#pragma once

#include <nlsq/op.hpp>

namespace nlsq::inline v0 {

// Returns true for comparisons and logical operations, whose result is 0 or 1.
inline bool is_truth(Op op) { return op >= Op::less && op <= Op::logical_not; }

// Returns true if the result changes by jumps only.
inline bool is_piecewise_constant(Op op) {
  return is_truth(op) || op == Op::sign || op == Op::floor || op == Op::ceil;
}

// Returns true if f(-a) = f(a) for every a.
inline bool is_even_function(Op op) {
  return op == Op::abs || op == Op::cos || op == Op::cosh || op == Op::besj0;
}

// Returns true if f(-a) = -f(a) for every a.
inline bool is_odd_function(Op op) {
  switch (op) {
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
    case Op::besj1: return true;
    default: return false;
  }
}

// Returns the cost of one operation on one row, in units of one addition. The costs are constants, so that no
// decision uses a clock.
double op_cost(Op op) noexcept;

}  // namespace nlsq::inline v0
