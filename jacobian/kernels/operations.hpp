// Computes the arithmetic operations, choices and comparisons of programs, for any vector type S. The
// interpreter runs them on the CPU's vectors, and the code generator records them (machine_code/writer.hpp).
#pragma once

#include "kernels/inline.hpp"

#include <nlsq/op.hpp>

namespace nlsq::inline v0 {
namespace {

// Returns truth values as numbers.
template <class S>
NLSQ_INLINE typename S::V truth(typename S::M m) {
  return S::choose(m, S::set(1), S::zero());
}
template <class S>
NLSQ_INLINE typename S::M is_true(typename S::V a) {
  return S::mask_not(S::equal(a, S::zero()));
}
template <class S>
NLSQ_INLINE typename S::M is_nan(typename S::V a) {
  return S::mask_not(S::equal(a, a));
}

// Returns use.operator()<op>() for a basic operation, that is, one that operate() has. Otherwise returns
// `otherwise`.
template <class Use, class Result>
constexpr Result with_basic(Op op, Use use, Result otherwise) {
  switch (op) {
    case Op::add: return use.template operator()<Op::add>();
    case Op::sub: return use.template operator()<Op::sub>();
    case Op::mul: return use.template operator()<Op::mul>();
    case Op::div: return use.template operator()<Op::div>();
    case Op::neg: return use.template operator()<Op::neg>();
    case Op::abs: return use.template operator()<Op::abs>();
    case Op::sign: return use.template operator()<Op::sign>();
    case Op::floor: return use.template operator()<Op::floor>();
    case Op::ceil: return use.template operator()<Op::ceil>();
    case Op::sqrt: return use.template operator()<Op::sqrt>();
    case Op::min: return use.template operator()<Op::min>();
    case Op::max: return use.template operator()<Op::max>();
    case Op::less: return use.template operator()<Op::less>();
    case Op::less_equal: return use.template operator()<Op::less_equal>();
    case Op::equal: return use.template operator()<Op::equal>();
    case Op::not_equal: return use.template operator()<Op::not_equal>();
    case Op::logical_and: return use.template operator()<Op::logical_and>();
    case Op::logical_or: return use.template operator()<Op::logical_or>();
    case Op::logical_not: return use.template operator()<Op::logical_not>();
    case Op::select: return use.template operator()<Op::select>();
    case Op::fma: return use.template operator()<Op::fma>();
    case Op::fms: return use.template operator()<Op::fms>();
    case Op::fnma: return use.template operator()<Op::fnma>();
    case Op::copy: return use.template operator()<Op::copy>();
    default: return otherwise;
  }
}

// Compute an operation of one, two or three operands.
template <class S, Op op, class V = typename S::V>
NLSQ_INLINE V operate(V a) {
  if constexpr (op == Op::neg) return S::neg(a);
  else if constexpr (op == Op::abs) return S::abs(a);
  else if constexpr (op == Op::floor) return S::floor(a);
  else if constexpr (op == Op::ceil) return S::ceil(a);
  else if constexpr (op == Op::sqrt) return S::sqrt(a);
  else if constexpr (op == Op::logical_not) return truth<S>(S::equal(a, S::zero()));
  else if constexpr (op == Op::sign) {
    const V negative = S::choose(S::less(a, S::zero()), S::set(-1), a);
    return S::choose(S::less(S::zero(), a), S::set(1), negative);
  } else {
    static_assert(op == Op::copy);
    return a;
  }
}

// min and max return the first argument if it is NaN or is the result. Otherwise they return the second, even
// if that is NaN.
template <class S, Op op, class V = typename S::V>
NLSQ_INLINE V operate(V a, V b) {
  if constexpr (op == Op::add) return S::add(a, b);
  else if constexpr (op == Op::sub) return S::sub(a, b);
  else if constexpr (op == Op::mul) return S::mul(a, b);
  else if constexpr (op == Op::div) return S::div(a, b);
  else if constexpr (op == Op::min) return S::choose(S::mask_or(is_nan<S>(a), S::less(a, b)), a, b);
  else if constexpr (op == Op::max) return S::choose(S::mask_or(is_nan<S>(a), S::less(b, a)), a, b);
  else if constexpr (op == Op::less) return truth<S>(S::less(a, b));
  else if constexpr (op == Op::less_equal) return truth<S>(S::less_equal(a, b));
  else if constexpr (op == Op::equal) return truth<S>(S::equal(a, b));
  else if constexpr (op == Op::not_equal) return truth<S>(S::mask_not(S::equal(a, b)));
  else if constexpr (op == Op::logical_and) return truth<S>(S::mask_and(is_true<S>(a), is_true<S>(b)));
  else {
    static_assert(op == Op::logical_or);
    return truth<S>(S::mask_or(is_true<S>(a), is_true<S>(b)));
  }
}

template <class S, Op op, class V = typename S::V>
NLSQ_INLINE V operate(V a, V b, V c) {
  if constexpr (op == Op::fma) return S::mul_add(a, b, c);
  else if constexpr (op == Op::fms) return S::mul_sub(a, b, c);
  else if constexpr (op == Op::fnma) return S::neg_mul_add(a, b, c);
  else {
    static_assert(op == Op::select);
    return S::choose(is_true<S>(a), b, c);
  }
}

}  // namespace
}  // namespace nlsq::inline v0
