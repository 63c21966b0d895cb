// The table of operation costs.
#include "expression/op_cost.hpp"

namespace nlsq::inline v0 {

// Rounded ratios of vector throughput per element on an AVX-512 core: an add or fma 1, a division 4, SLEEF's
// exp 15, pow 45. Only the ratios matter, and only within a factor of about two.
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
