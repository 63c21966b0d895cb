// Lists the operations of an expression graph and of a tile program. Both use one list, so a kernel can
// execute everything that a graph can express.
#pragma once

#include <nlsq/export.hpp>

#include <cstdint>

namespace nlsq::inline v0 {

// Truth values are numbers: 0 is false and everything else, NaN included, is true. Comparisons give 1 or 0.
enum class Op : std::uint8_t {
  // leaves
  constant,    // Node::value
  column,      // data column Node::index
  parameter,   // parameter Node::index
  unexplored,  // NaN: a branch of a recorded callable that no row has taken yet (see trace.hpp)
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
  select,  // a ? b : c for each element; the branch not taken may be NaN
  // only in tile programs
  fma,   // a*b + c, rounded once where the instruction set allows it
  fms,   // a*b - c
  fnma,  // c - a*b
  copy,  // a (also fills a register from a uniform value)
};

// Calls `apply` with the name of each function of one argument that the operations, the C library and SLEEF
// call by one name. Lists of these functions are made by it.
// clang-format off
#define NLSQ_ELEMENTARY_FUNCTIONS(apply)                                                                  \
  apply(cbrt) apply(exp) apply(expm1) apply(log) apply(log10) apply(log2) apply(log1p) apply(sin)         \
  apply(cos) apply(tan) apply(asin) apply(acos) apply(atan) apply(sinh) apply(cosh) apply(tanh)           \
  apply(asinh) apply(acosh) apply(atanh) apply(erf)
// clang-format on

// Returns the number of operands of an operation, which is 0 for leaves.
constexpr int arity(Op op) noexcept {
  if (op < Op::add) return 0;
  if (op < Op::neg) return 2;
  if (op < Op::pow) return 1;
  if (op < Op::logical_not) return 2;
  return op == Op::logical_not || op == Op::copy ? 1 : 3;
}
NLSQ_API const char* name(Op op) noexcept;

// Evaluates an operation in double, with the C library where it has the function. Constant folding, the
// evaluation of expressions of parameters alone, and the tests of the kernels use it.
NLSQ_API double evaluate_op(Op op, double a, double b = 0, double c = 0) noexcept;

}  // namespace nlsq::inline v0
