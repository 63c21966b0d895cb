// The operations of an expression graph and of a tile program. One list serves both, so that what
// a graph can say, a kernel can run.
#pragma once

#include <nlsq/export.hpp>

#include <cstdint>

namespace nlsq::inline v0 {

// Truth values are numbers: 0 is false, everything else (NaN too) is true; comparisons give 1 or 0.
enum class Op : std::uint8_t {
  // leaves
  constant,    // Node::value
  column,      // data column Node::index
  parameter,   // parameter Node::index
  unexplored,  // NaN: a branch of a traced callable that no row has taken yet (see trace.hpp)
  // arithmetic
  add,
  sub,
  mul,
  div,
  neg,
  // one argument
  abs,
  sign,
  floor,
  ceil,
  sqrt,
  cbrt,
  exp,
  expm1,
  log,
  log10,
  log2,
  log1p,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  erf,
  erfc,
  erfcx,
  gamma,
  lgamma,
  digamma,
  trigamma,
  besj0,
  besj1,
  // two arguments
  pow,
  hypot,
  atan2,
  min,
  max,
  fmod,
  wofz_re,  // Re w(a + ib), the Faddeeva function
  wofz_im,  // Im w(a + ib)
  // comparisons and logic; greater is less with its arguments exchanged
  less,
  less_equal,
  equal,
  not_equal,
  logical_and,
  logical_or,
  logical_not,
  // three arguments
  select,  // a ? b : c, elementwise; the branch not taken may hold NaN
  // tile programs only
  fma,   // a*b + c, one rounding where the instruction set has it
  fms,   // a*b - c
  fnma,  // c - a*b
  copy,  // a (also: fills a register from a uniform)
};

// Number of operands an operation reads (0 for leaves).
constexpr int arity(Op op) noexcept {
  if (op < Op::add) return 0;
  if (op < Op::neg) return 2;
  if (op < Op::pow) return 1;
  if (op < Op::logical_not) return 2;
  return op == Op::logical_not || op == Op::copy ? 1 : 3;
}
NLSQ_API const char* name(Op op) noexcept;

// The operation in double, by the C library where it has the function: the oracle of the kernels,
// the constant folder, and the evaluator of parameter-only expressions.
NLSQ_API double evaluate_op(Op op, double a, double b = 0, double c = 0) noexcept;

}  // namespace nlsq::inline v0
