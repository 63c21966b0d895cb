// Computes elementary functions of vectors. They are those of SLEEF, corrected where these differ from the C
// library. A correction costs one comparison, and its branch is taken if some lane needs it. README.md lists
// the error bounds.
#pragma once

#include "kernels/functions/sleef_vector.hpp"

#include <type_traits>

#if !defined(NLSQ_KERNEL_SET_baseline)  // the baseline set has no fused multiply-add
#include "kernels/functions/own_atan.hpp"
#include "kernels/functions/own_erf.hpp"
#include "kernels/functions/own_erfc.hpp"
#include "kernels/functions/own_expm1.hpp"
#include "kernels/functions/own_log1p.hpp"
#include "kernels/functions/own_log_pow.hpp"
#include "kernels/functions/own_sincos.hpp"
#include "kernels/functions/own_tanh.hpp"
#endif

namespace nlsq::inline v0 {
namespace {
namespace elementary {

using sleef::acos, sleef::asin, sleef::atan2, sleef::atanh, sleef::cbrt;
using sleef::hypot, sleef::lgamma, sleef::log10, sleef::log2;

// Of<V> has the operations on vectors of type V.
template <class V>
using Of = Simd<std::conditional_t<std::is_same_v<V, V64>, double, float>>;

// Returns the threshold for the format of V.
template <class V>
NLSQ_INLINE constexpr auto pick(double f64, double f32) {
  if constexpr (std::is_same_v<V, V64>) return f64;
  else return static_cast<float>(f32);
}

// SLEEF reduces the argument of sin, cos or tan in one of three ways, chosen for the whole vector by its
// largest lane. Here the lanes of each way are computed separately; otherwise the last bit of a lane would
// depend on its neighbours.
template <class V, class F>
NLSQ_INLINE V by_reduction(V a, F f) {
  using S = Of<V>;
  const V size = S::abs(a);
  const auto near = S::less(size, S::set(pick<V>(15, 125)));
  if (!S::any(S::mask_not(near))) [[likely]]
    return f(a);
  const auto far = S::mask_not(S::less(size, S::set(pick<V>(1e14, 39000))));
  V result = f(S::choose(S::mask_or(near, far), S::set(200), a));
  if (S::any(near)) result = S::choose(near, f(S::choose(near, a, S::zero())), result);
  if (S::any(far)) result = S::choose(far, f(S::choose(far, a, S::set(pick<V>(1e15, 1e6)))), result);
  return result;
}
NLSQ_INLINE auto reduced_sin(auto a) {
  return by_reduction(a, [](auto x) { return sleef::sin(x); });
}
NLSQ_INLINE auto reduced_cos(auto a) {
  return by_reduction(a, [](auto x) { return sleef::cos(x); });
}
NLSQ_INLINE auto tan(auto a) {
  return by_reduction(a, [](auto x) { return sleef::tan(x); });
}

// Returns `result` in the lanes `inside`, for which the function is valid, and other() in the others.
template <class V>
NLSQ_INLINE V within(auto inside, V result, auto other) {
  if (!Of<V>::any(Of<V>::mask_not(inside))) [[likely]]
    return result;
  return Of<V>::choose(inside, result, other());
}

// Computes log1p also near the largest number, where SLEEF overflows because it forms a scaled 1 + x.
template <class V>
NLSQ_INLINE V full_log1p(V a) {
  using S = Of<V>;
  const auto large = S::less(S::set(pick<V>(1e100, 1e20)), a);
  return within(S::mask_not(large), sleef::log1p(a), [a]() NLSQ_INLINE_LAMBDA { return sleef::log(a); });
}

#if !defined(NLSQ_KERNEL_SET_baseline)
NLSQ_INLINE auto exp(auto a) { return own::exp<Of<decltype(a)>>(a); }
NLSQ_INLINE auto expm1(auto a) { return own::expm1<Of<decltype(a)>>(a); }
NLSQ_INLINE auto tanh(auto a) { return own::tanh<Of<decltype(a)>>(a); }
NLSQ_INLINE auto atan(auto a) { return own::atan<Of<decltype(a)>>(a); }
NLSQ_INLINE auto erf(auto a) { return own::erf<Of<decltype(a)>>(a); }
NLSQ_INLINE auto erfc(auto a) { return own::erfc<Of<decltype(a)>>(a); }

// Returns sin(a) and cos(a), each with the same bits as when computed alone. Lanes beyond the range of the
// reduction use SLEEF.
template <class V>
NLSQ_INLINE own::SinCos<Of<V>> sincos(V a) {
  using S = Of<V>;
  const own::SinCos<S> both = own::sincos<S>(a);
  const auto inside = own::has_sincos<S>(a);
  if (!S::any(S::mask_not(inside))) [[likely]]
    return both;
  return {S::choose(inside, both.sine, reduced_sin(a)), S::choose(inside, both.cosine, reduced_cos(a))};
}
NLSQ_INLINE auto sin(auto a) { return sincos(a).sine; }
NLSQ_INLINE auto cos(auto a) { return sincos(a).cosine; }

// Return log(a) and pow(a, b), each with the same bits as when computed alone. Lanes with arguments that are
// zero, negative, infinite, NaN or subnormal doubles use SLEEF.
template <class V>
NLSQ_INLINE V log_of(V a, const auto& parts) {
  return within(own::has_log<Of<V>>(a), own::log(parts), [a]() NLSQ_INLINE_LAMBDA { return sleef::log(a); });
}
template <class V>
NLSQ_INLINE V pow_of(V a, const auto& parts, V b) {
  return within(own::has_pow<Of<V>>(a, b), own::pow(parts, b),
                [a, b]() NLSQ_INLINE_LAMBDA { return sleef::pow(a, b); });
}
template <class V>
struct LogPow {
  V logarithm, power;
};
template <class V>
NLSQ_INLINE LogPow<V> log_pow(V a, V b) {
  const auto parts = own::log_parts<Of<V>>(a);
  return {log_of(a, parts), pow_of(a, parts, b)};
}
NLSQ_INLINE auto log(auto a) { return log_of(a, own::log_parts<Of<decltype(a)>>(a)); }
template <class V>
NLSQ_INLINE V pow(V a, V b) {
  return pow_of(a, own::log_parts<Of<V>>(a), b);
}
template <class V>
NLSQ_INLINE V log1p(V a) {
  return within(own::has_log1p<Of<V>>(a), own::log1p<Of<V>>(a),
                [a]() NLSQ_INLINE_LAMBDA { return full_log1p(a); });
}
#else
using sleef::atan, sleef::erf, sleef::erfc, sleef::exp, sleef::expm1, sleef::log, sleef::pow, sleef::tanh;
NLSQ_INLINE auto sin(auto a) { return reduced_sin(a); }
NLSQ_INLINE auto cos(auto a) { return reduced_cos(a); }
NLSQ_INLINE auto log1p(auto a) { return full_log1p(a); }
#endif

// Returns log |2a|. It replaces SLEEF's result, which squares a, where the 1 under the root is negligible.
template <class V>
NLSQ_INLINE V log_of_twice(V magnitude) {
  return Of<V>::add(sleef::log(magnitude),
                    Of<V>::set(pick<V>(0.693147180559945309417, 0.693147180559945309417)));
}
template <class V>
NLSQ_INLINE V asinh(V a) {
  using S = Of<V>;
  const V result = sleef::asinh(a), magnitude = S::abs(a);
  const auto large = S::less(S::set(pick<V>(1e100, 1e15)), magnitude);
  if (!S::any(large)) [[likely]]
    return result;
  const V mended = log_of_twice(magnitude);
  return S::choose(large, S::choose(S::less(a, S::zero()), S::neg(mended), mended), result);
}
template <class V>
NLSQ_INLINE V acosh(V a) {
  using S = Of<V>;
  const auto large = S::less(S::set(pick<V>(1e100, 1e15)), a);
  return within(S::mask_not(large), sleef::acosh(a), [a]() NLSQ_INLINE_LAMBDA { return log_of_twice(a); });
}

// Returns (exp(a/2) / 2) exp(a/2). SLEEF computes exp(a), which is twice the result and overflows earlier.
template <class V>
NLSQ_INLINE V half_exp(V magnitude) {
  const V half = Of<V>::set(pick<V>(0.5, 0.5)), root = sleef::exp(Of<V>::mul(magnitude, half));
  return Of<V>::mul(Of<V>::mul(root, half), root);
}
template <class V>
NLSQ_INLINE V sinh(V a) {
  using S = Of<V>;
  const V result = sleef::sinh(a), magnitude = S::abs(a);
  const auto large = S::less(S::set(pick<V>(709, 88)), magnitude);
  if (!S::any(large)) [[likely]]
    return result;
  const V mended = half_exp(magnitude);
  return S::choose(large, S::choose(S::less(a, S::zero()), S::neg(mended), mended), result);
}
template <class V>
NLSQ_INLINE V cosh(V a) {
  using S = Of<V>;
  const V magnitude = S::abs(a);
  const auto large = S::less(S::set(pick<V>(709, 88)), magnitude);
  return within(S::mask_not(large), sleef::cosh(a),
                [magnitude]() NLSQ_INLINE_LAMBDA { return half_exp(magnitude); });
}

// The pole at 0 has no sign, so the result is NaN as at the other poles.
template <class V>
NLSQ_INLINE V gamma(V a) {
  using S = Of<V>;
  const double nan = __builtin_nan("");
  return S::choose(S::equal(a, S::zero()), S::set(pick<V>(nan, nan)), sleef::gamma(a));
}

}  // namespace elementary
}  // namespace
}  // namespace nlsq::inline v0
