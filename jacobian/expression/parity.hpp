// Functions of one argument by their symmetry. Each list holds exactly, rounding included.
#pragma once

#include <nlsq/op.hpp>

namespace nlsq::inline v0 {

// f(-a) = f(a) for every a.
inline bool is_even_function(Op op) {
  return op == Op::abs || op == Op::cos || op == Op::cosh || op == Op::besj0;
}

// f(-a) = -f(a) for every a.
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

}  // namespace nlsq::inline v0
