// Defines names and reference evaluation of the operations of a graph.
#include <nlsq/op.hpp>

#include "enum_names.hpp"
#include "expression/op_kinds.hpp"

#include <nlsq/special_functions.hpp>

#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

const char* name(Op op) noexcept {
  static constexpr const char* kNames[] = {
      "constant",    "column",  "parameter", "unexplored", "add",   "sub",       "mul",         "div",
      "neg",         "abs",     "sign",      "floor",      "ceil",  "sqrt",      "cbrt",        "exp",
      "expm1",       "log",     "log10",     "log2",       "log1p", "sin",       "cos",         "tan",
      "asin",        "acos",    "atan",      "sinh",       "cosh",  "tanh",      "asinh",       "acosh",
      "atanh",       "erf",     "erfc",      "erfcx",      "gamma", "lgamma",    "digamma",     "trigamma",
      "besj0",       "besj1",   "pow",       "hypot",      "atan2", "min",       "max",         "fmod",
      "wofz_re",     "wofz_im", "less",      "less_equal", "equal", "not_equal", "logical_and", "logical_or",
      "logical_not", "select",  "fma",       "fms",        "fnma",  "copy"};
  return name_in<Op::copy>(kNames, op);
}

double evaluate_op(Op op, double a, double b, double c) noexcept {
  switch (op) {
    case Op::constant:
    case Op::column:
    case Op::parameter:
    case Op::unexplored: break;
    case Op::add: return a + b;
    case Op::sub: return a - b;
    case Op::mul: return a * b;
    case Op::div: return a / b;
    case Op::neg: return -a;
    case Op::abs: return std::fabs(a);
    case Op::sign: return a > 0 ? 1 : a < 0 ? -1 : a;
    case Op::floor: return std::floor(a);
    case Op::ceil: return std::ceil(a);
    case Op::sqrt: return std::sqrt(a);
#define NLSQ_CASE(function) \
  case Op::function: return std::function(a);
      NLSQ_ELEMENTARY_FUNCTIONS(NLSQ_CASE)
#undef NLSQ_CASE
    case Op::erfc: return std::erfc(a);
    case Op::erfcx: return erfcx(a);
    case Op::gamma: return gamma_function(a);
    case Op::lgamma: return lgamma_function(a);
    case Op::digamma: return digamma(a);
    case Op::trigamma: return trigamma(a);
    case Op::besj0: return besj0(a);
    case Op::besj1: return besj1(a);
    case Op::pow: return std::pow(a, b);
    case Op::hypot: return std::hypot(a, b);
    case Op::atan2: return std::atan2(a, b);
    // Returns the first argument if it is NaN or wins; else the second, even if that is NaN.
    case Op::min: return std::isnan(a) || a < b ? a : b;
    case Op::max: return std::isnan(a) || b < a ? a : b;
    case Op::fmod: return std::fmod(a, b);
    case Op::wofz_re: return wofz({a, b}).real();
    case Op::wofz_im: return wofz({a, b}).imag();
    case Op::less: return a < b;
    case Op::less_equal: return a <= b;
    case Op::equal: return a == b;
    case Op::not_equal: return a != b;
    case Op::logical_and: return a != 0 && b != 0;
    case Op::logical_or: return a != 0 || b != 0;
    case Op::logical_not: return a == 0;
    case Op::select: return a != 0 ? b : c;
    case Op::fma: return std::fma(a, b, c);
    case Op::fms: return std::fma(a, b, -c);
    case Op::fnma: return std::fma(-a, b, c);
    case Op::copy: return a;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

// The costs are rounded ratios of vector throughput per element on an AVX-512 core: an add or fma 1, a
// division 4, SLEEF's exp 15, pow 45. Only the ratios matter, and only within a factor of about two.
double op_cost(Op op) noexcept {
  switch (op) {
    case Op::constant:
    case Op::column:
    case Op::parameter:
    case Op::unexplored: return 0;
    case Op::sign: return 2;
    case Op::div: return 4;
    case Op::sqrt: return 5;
    case Op::fmod:
    case Op::hypot: return 12;
    case Op::exp: return 15;
    case Op::expm1:
    case Op::log10:
    case Op::log1p: return 20;
    case Op::log:
    case Op::log2: return 18;
    case Op::sin:
    case Op::cos:
    case Op::cbrt:
    case Op::asin:
    case Op::acos:
    case Op::atan: return 25;
    case Op::sinh:
    case Op::cosh:
    case Op::tanh:
    case Op::erf: return 30;
    case Op::tan:
    case Op::atan2: return 35;
    case Op::asinh:
    case Op::acosh:
    case Op::atanh:
    case Op::erfcx: return 40;
    case Op::pow: return 45;
    case Op::erfc: return 50;
    case Op::digamma:
    case Op::trigamma:
    case Op::besj0:
    case Op::besj1: return 60;
    case Op::gamma:
    case Op::lgamma: return 90;
    case Op::wofz_re:
    case Op::wofz_im: return 120;
    default: return 1;
  }
}

}  // namespace nlsq::inline v0
