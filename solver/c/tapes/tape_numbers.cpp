// Operations on dual numbers by their names in a graph.
#include "c/tapes/tape_numbers.hpp"

#include <algorithm>

namespace nlsq::inline v0::c {

namespace {

bool is_plain(const Dual8& a) {
  for (int k = 0; k < kDualWidth; ++k) {
    if (a.derivative(k) != 0) return false;
  }
  return true;
}

Dual8 of_two(Op op, const Dual8& a, const Dual8& b) {
  switch (op) {
    case Op::add: return a + b;
    case Op::sub: return a - b;
    case Op::mul: return a * b;
    case Op::div: return a / b;
    // The slope in a plain exponent is not wanted; it would be NaN for a negative base.
    case Op::pow: return is_plain(b) ? pow(a, b.value()) : pow(a, b);
    case Op::hypot: return hypot(a, b);
    case Op::atan2: return atan2(a, b);
    case Op::min: return min(a, b);
    case Op::max: return max(a, b);
    case Op::fmod: return fmod(a, b);
    case Op::wofz_re: return wofz_re(a, b);
    case Op::wofz_im: return wofz_im(a, b);
    default: return Dual8(evaluate_op(op, a.value(), b.value()));  // comparisons and logic
  }
}

Dual8 of_one(Op op, const Dual8& a) {
  switch (op) {
    case Op::neg: return -a;
    case Op::abs: return abs(a);
    case Op::sqrt: return sqrt(a);
    case Op::cbrt: return cbrt(a);
    case Op::exp: return exp(a);
    case Op::expm1: return expm1(a);
    case Op::log: return log(a);
    case Op::log10: return log10(a);
    case Op::log2: return log2(a);
    case Op::log1p: return log1p(a);
    case Op::sin: return sin(a);
    case Op::cos: return cos(a);
    case Op::tan: return tan(a);
    case Op::asin: return asin(a);
    case Op::acos: return acos(a);
    case Op::atan: return atan(a);
    case Op::sinh: return sinh(a);
    case Op::cosh: return cosh(a);
    case Op::tanh: return tanh(a);
    case Op::asinh: return asinh(a);
    case Op::acosh: return acosh(a);
    case Op::atanh: return atanh(a);
    case Op::erf: return erf(a);
    case Op::erfc: return erfc(a);
    case Op::erfcx: return erfcx(a);
    case Op::gamma: return gamma_function(a);
    case Op::lgamma: return lgamma_function(a);
    case Op::digamma: return digamma(a);
    case Op::besj0: return besj0(a);
    case Op::besj1: return besj1(a);
    default: return Dual8(evaluate_op(op, a.value()));  // sign, floor, ceil, not
  }
}

}  // namespace

Dual8 apply(Op op, const Dual8& a, const Dual8& b, const Dual8& c) {
  if (op == Op::select) return a.value() != 0 ? b : c;
  return arity(op) == 2 ? of_two(op, a, b) : of_one(op, a);
}

}  // namespace nlsq::inline v0::c
