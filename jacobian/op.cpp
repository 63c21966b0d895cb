#include <nlsq/op.hpp>

#include <nlsq/special_functions.hpp>

#include <cmath>
#include <limits>

namespace nlsq::inline v0 {
namespace {

struct OpInfo {
  const char* name;
  int arity;
};

OpInfo info(Op op) noexcept {
  switch (op) {
    case Op::constant: return {"constant", 0};
    case Op::column: return {"column", 0};
    case Op::parameter: return {"parameter", 0};
    case Op::unexplored: return {"unexplored", 0};
    case Op::add: return {"add", 2};
    case Op::sub: return {"sub", 2};
    case Op::mul: return {"mul", 2};
    case Op::div: return {"div", 2};
    case Op::neg: return {"neg", 1};
    case Op::abs: return {"abs", 1};
    case Op::sign: return {"sign", 1};
    case Op::floor: return {"floor", 1};
    case Op::ceil: return {"ceil", 1};
    case Op::sqrt: return {"sqrt", 1};
    case Op::cbrt: return {"cbrt", 1};
    case Op::exp: return {"exp", 1};
    case Op::expm1: return {"expm1", 1};
    case Op::log: return {"log", 1};
    case Op::log10: return {"log10", 1};
    case Op::log2: return {"log2", 1};
    case Op::log1p: return {"log1p", 1};
    case Op::sin: return {"sin", 1};
    case Op::cos: return {"cos", 1};
    case Op::tan: return {"tan", 1};
    case Op::asin: return {"asin", 1};
    case Op::acos: return {"acos", 1};
    case Op::atan: return {"atan", 1};
    case Op::sinh: return {"sinh", 1};
    case Op::cosh: return {"cosh", 1};
    case Op::tanh: return {"tanh", 1};
    case Op::asinh: return {"asinh", 1};
    case Op::acosh: return {"acosh", 1};
    case Op::atanh: return {"atanh", 1};
    case Op::erf: return {"erf", 1};
    case Op::erfc: return {"erfc", 1};
    case Op::erfcx: return {"erfcx", 1};
    case Op::gamma: return {"gamma", 1};
    case Op::lgamma: return {"lgamma", 1};
    case Op::digamma: return {"digamma", 1};
    case Op::trigamma: return {"trigamma", 1};
    case Op::besj0: return {"besj0", 1};
    case Op::besj1: return {"besj1", 1};
    case Op::pow: return {"pow", 2};
    case Op::hypot: return {"hypot", 2};
    case Op::atan2: return {"atan2", 2};
    case Op::min: return {"min", 2};
    case Op::max: return {"max", 2};
    case Op::fmod: return {"fmod", 2};
    case Op::wofz_re: return {"wofz_re", 2};
    case Op::wofz_im: return {"wofz_im", 2};
    case Op::less: return {"less", 2};
    case Op::less_equal: return {"less_equal", 2};
    case Op::equal: return {"equal", 2};
    case Op::not_equal: return {"not_equal", 2};
    case Op::logical_and: return {"logical_and", 2};
    case Op::logical_or: return {"logical_or", 2};
    case Op::logical_not: return {"logical_not", 1};
    case Op::select: return {"select", 3};
    case Op::fma: return {"fma", 3};
    case Op::fms: return {"fms", 3};
    case Op::fnma: return {"fnma", 3};
    case Op::copy: return {"copy", 1};
  }
  return {"?", 0};
}

}  // namespace

int arity(Op op) noexcept { return info(op).arity; }
const char* name(Op op) noexcept { return info(op).name; }

double evaluate_op(Op op, double a, double b, double c) noexcept {
  switch (op) {
    case Op::constant: case Op::column: case Op::parameter: case Op::unexplored: break;
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
    // The first argument where it is NaN or wins; else the second, NaN included.
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
