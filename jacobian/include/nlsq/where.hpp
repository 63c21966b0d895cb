// Defines selection without a branch, and functions that <cmath> lacks, for double, Dual and Traced.
// Callables use them.
//
//    nlsq::where(nlsq::less(x, p[0]), a, b)   evaluates both sides and records no guard: one program
//    nlsq::where(x < p[0], a, b)              records a guard; the other side is recorded when a row needs it
//
//  Both become the same `select`. Use the first for branches that must not count against the limit on
//  variants. It costs nothing extra where both sides are cheap.
#pragma once

#include <nlsq/dual.hpp>
#include <nlsq/traced.hpp>

#include <cmath>
#include <numbers>
#include <type_traits>

namespace nlsq::inline v0 {

// These return the result of a comparison: a TracedMask if one side is Traced, otherwise a bool. Combine
// results with &&, ||, !.
#define NLSQ_COMPARISON(function, symbol, op, first, second)                \
  template <class A, class B>                                               \
  auto function(const A& a, const B& b) {                                   \
    if constexpr (std::is_same_v<A, Traced> || std::is_same_v<B, Traced>) { \
      return TracedMask::compare(op, first, second);                        \
    } else {                                                                \
      return a symbol b;                                                    \
    }                                                                       \
  }
NLSQ_COMPARISON(less, <, Op::less, a, b)
NLSQ_COMPARISON(less_equal, <=, Op::less_equal, a, b)
NLSQ_COMPARISON(greater, >, Op::less, b, a)
NLSQ_COMPARISON(greater_equal, >=, Op::less_equal, b, a)
NLSQ_COMPARISON(equal, ==, Op::equal, a, b)
NLSQ_COMPARISON(not_equal, !=, Op::not_equal, a, b)
#undef NLSQ_COMPARISON

template <class A, class B>
std::common_type_t<A, B> where(bool condition, const A& a, const B& b) {
  using Result = std::common_type_t<A, B>;
  return condition ? Result(a) : Result(b);
}
inline Traced where(const TracedMask& condition, const Traced& a, const Traced& b) {
  return condition.select(a, b);
}

// Returns the plain value of a number of any of the three kinds. Reading a Traced number makes its recording
// opaque.
template <class A>
requires std::is_arithmetic_v<A>
double value_of(A a) { return static_cast<double>(a); }
inline double value_of(const Traced& a) { return a.value(); }
template <class T, int N>
double value_of(const Dual<T, N>& a) {
  return value_of(a.value());
}

// This is the Voigt profile Re w((x + i gamma)/(sigma sqrt 2)) / (sigma sqrt(2 pi)) for sigma > 0 (DLMF
// 7.19).
template <class X, class S, class G, class R = std::common_type_t<X, S, G>>
requires(std::is_same_v<R, Traced> || detail::is_dual<R>) R
    voigt(const X& x, const S& sigma, const G& gamma) {
  const R width = R(sigma) * std::numbers::sqrt2;
  return wofz_re(R(x) / width, R(gamma) / width) / (R(sigma) * std::sqrt(2 * std::numbers::pi));
}

}  // namespace nlsq::inline v0
