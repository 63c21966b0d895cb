// Defines std::exp, std::pow, std::max and the like for Traced and Dual numbers. <nlsq/callable.hpp> includes
// this file.
//
//  If a callable writes std::exp(...) instead of `using std::exp; exp(...)`, the compiler looks only in
//  namespace std, where the functions of nlsq's numbers are not. The templates below pass such a call on to
//  them. Two properties keep them from interfering with other code:
//  - They take part only if one argument is a Traced or a Dual and all others are that or plain numbers.
//  - Their arguments are a pack, so any other function that fits is more specialised and is preferred. A call
//    exp(a) after `using std::exp;` therefore still finds nlsq's own function.
//  The standard does not allow additions to namespace std. GCC's and Clang's libraries accept these, and the
//  only other way, an implicit conversion to double, would silently lose the derivatives.
#pragma once

#include <nlsq/dual.hpp>
#include <nlsq/traced.hpp>

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace nlsq::inline v0::detail {

template <class A>
concept OwnNumber = std::is_same_v<A, Traced> || is_dual<A>;
template <class... A>
concept OwnNumbers = (OwnNumber<A> || ...) && ((OwnNumber<A> || std::is_arithmetic_v<A>)&&...);

}  // namespace nlsq::inline v0::detail

// clang-format off
#define NLSQ_STD_FUNCTIONS(apply)                                                                         \
  NLSQ_ELEMENTARY_FUNCTIONS(apply)                                                                        \
  apply(abs) apply(fabs) apply(floor) apply(ceil) apply(trunc) apply(round) apply(sqrt) apply(exp2)       \
  apply(erfc) apply(tgamma) apply(lgamma) apply(pow)                                                      \
  apply(atan2) apply(fmod) apply(hypot) apply(fmin) apply(fmax) apply(fdim) apply(copysign) apply(fma)    \
  apply(min) apply(max) apply(clamp) apply(isnan) apply(isinf) apply(isfinite) apply(isnormal)            \
  apply(signbit) apply(fpclassify)
// clang-format on

// This is outside namespace std, so that the call finds nlsq's function and not the template that passes it
// on.
namespace nlsq::inline v0::detail::handed_on {
#define NLSQ_HAND_ON(function)                               \
  template <class... A>                                      \
  auto call_##function(const A&... a) {                      \
    return function(a...); /* found through its arguments */ \
  }
NLSQ_STD_FUNCTIONS(NLSQ_HAND_ON)
#undef NLSQ_HAND_ON
}  // namespace nlsq::inline v0::detail::handed_on

namespace std {  // NOLINT: see above
#define NLSQ_TAKE_STD(function)           \
  template <class... A>                   \
  requires nlsq::detail::OwnNumbers<A...> \
  auto function(const A&... a) { return nlsq::detail::handed_on::call_##function(a...); }
NLSQ_STD_FUNCTIONS(NLSQ_TAKE_STD)
#undef NLSQ_TAKE_STD

// The standard's own min, max and clamp accept these numbers too, but compare them. That would record a guard
// and make one program for each answer.
template <class A>
requires nlsq::detail::OwnNumber<A> A min(const A& a, const A& b) {
  return nlsq::detail::handed_on::call_min(a, b);
}
template <class A>
requires nlsq::detail::OwnNumber<A> A max(const A& a, const A& b) {
  return nlsq::detail::handed_on::call_max(a, b);
}
template <class A>
requires nlsq::detail::OwnNumber<A> A clamp(const A& x, const A& low, const A& high) {
  return nlsq::detail::handed_on::call_clamp(x, low, high);
}
}  // namespace std
#undef NLSQ_STD_FUNCTIONS
