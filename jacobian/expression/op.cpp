// Names and reference evaluation of the operations of a graph.
#include <nlsq/op.hpp>

#include <nlsq/special_functions.hpp>

#include <cmath>
#include <limits>

namespace nlsq::inline v0 {
namespace {

const char* name_of(Op op) noexcept {
  switch (op) {
    case Op::constant: return "constant";
    case Op::column: return "column";
    case Op::parameter: return "parameter";
    case Op::unexplored: return "unexplored";
    case Op::add: return "add";
    case Op::sub: return "sub";
    case Op::mul: return "mul";
    case Op::div: return "div";
    case Op::neg: return "neg";
    case Op::abs: return "abs";
    case Op::sign: return "sign";
    case Op::floor: return "floor";
    case Op::ceil: return "ceil";
    case Op::sqrt: return "sqrt";
    case Op::cbrt: return "cbrt";
    case Op::exp: return "exp";
    case Op::expm1: return "expm1";
    case Op::log: return "log";
    case Op::log10: return "log10";
    case Op::log2: return "log2";
    case Op::log1p: return "log1p";
    case Op::sin: return "sin";
    case Op::cos: return "cos";
    case Op::tan: return "tan";
    case Op::asin: return "asin";
    case Op::acos: return "acos";
    case Op::atan: return "atan";
    case Op::sinh: return "sinh";
    case Op::cosh: return "cosh";
    case Op::tanh: return "tanh";
    case Op::asinh: return "asinh";
    case Op::acosh: return "acosh";
    case Op::atanh: return "atanh";
    case Op::erf: return "erf";
    case Op::erfc: return "erfc";
    case Op::erfcx: return "erfcx";
    case Op::gamma: return "gamma";
    case Op::lgamma: return "lgamma";
    case Op::digamma: return "digamma";
    case Op::trigamma: return "trigamma";
    case Op::besj0: return "besj0";
    case Op::besj1: return "besj1";
    case Op::pow: return "pow";
    case Op::hypot: return "hypot";
    case Op::atan2: return "atan2";
    case Op::min: return "min";
    case Op::max: return "max";
    case Op::fmod: return "fmod";
    case Op::wofz_re: return "wofz_re";
    case Op::wofz_im: return "wofz_im";
    case Op::less: return "less";
    case Op::less_equal: return "less_equal";
    case Op::equal: return "equal";
    case Op::not_equal: return "not_equal";
    case Op::logical_and: return "logical_and";
    case Op::logical_or: return "logical_or";
    case Op::logical_not: return "logical_not";
    case Op::select: return "select";
    case Op::fma: return "fma";
    case Op::fms: return "fms";
    case Op::fnma: return "fnma";
    case Op::copy: return "copy";
  }
  return "?";
}

}  // namespace

const char* name(Op op) noexcept { return name_of(op); }

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
    case Op::cbrt: return std::cbrt(a);
    case Op::exp: return std::exp(a);
    case Op::expm1: return std::expm1(a);
    case Op::log: return std::log(a);
    case Op::log10: return std::log10(a);
    case Op::log2: return std::log2(a);
    case Op::log1p: return std::log1p(a);
    case Op::sin: return std::sin(a);
    case Op::cos: return std::cos(a);
    case Op::tan: return std::tan(a);
    case Op::asin: return std::asin(a);
    case Op::acos: return std::acos(a);
    case Op::atan: return std::atan(a);
    case Op::sinh: return std::sinh(a);
    case Op::cosh: return std::cosh(a);
    case Op::tanh: return std::tanh(a);
    case Op::asinh: return std::asinh(a);
    case Op::acosh: return std::acosh(a);
    case Op::atanh: return std::atanh(a);
    case Op::erf: return std::erf(a);
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

}  // namespace nlsq::inline v0
