// Elementary functions of vectors: SLEEF's, corrected where they differ from the C library. The correction
// costs one comparison; its branch is taken if some lane needs it. README.md lists the error bounds.
#pragma once

#include "kernels/functions/sleef_vector.hpp"

#if !defined(NLSQ_KERNEL_SET_baseline)  // which has no fused multiply-add
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

// Thresholds of the two formats.
template <class T>
NLSQ_INLINE constexpr T pick(double f64, double f32) {
  return static_cast<T>(sizeof(T) == sizeof(double) ? f64 : f32);
}

// SLEEF reduces the argument of sin, cos or tan in one of three ways, chosen for the whole vector by its
// largest lane. Here the lanes of each way are computed separately; otherwise the last bit of a lane would
// depend on its neighbours.
template <class T, class F, class V = typename Simd<T>::V>
NLSQ_INLINE V by_reduction(V a, F f) {
  using S = Simd<T>;
  const V size = S::abs(a);
  const auto near = S::less(size, S::set(pick<T>(15, 125)));
  if (!S::any(S::mask_not(near))) [[likely]]
    return f(a);
  const auto far = S::mask_not(S::less(size, S::set(pick<T>(1e14, 39000))));
  V result = f(S::choose(S::mask_or(near, far), S::set(T(200)), a));
  if (S::any(near)) result = S::choose(near, f(S::choose(near, a, S::zero())), result);
  if (S::any(far)) result = S::choose(far, f(S::choose(far, a, S::set(pick<T>(1e15, 1e6)))), result);
  return result;
}

#if !defined(NLSQ_KERNEL_SET_baseline)
NLSQ_INLINE V64 exp(V64 a) { return own::exp<Simd<double>>(a); }
NLSQ_INLINE V32 exp(V32 a) { return own::exp<Simd<float>>(a); }
NLSQ_INLINE V64 expm1(V64 a) { return own::expm1<Simd<double>>(a); }
NLSQ_INLINE V32 expm1(V32 a) { return own::expm1<Simd<float>>(a); }
NLSQ_INLINE V64 tanh(V64 a) { return own::tanh<Simd<double>>(a); }
NLSQ_INLINE V32 tanh(V32 a) { return own::tanh<Simd<float>>(a); }
NLSQ_INLINE V64 atan(V64 a) { return own::atan<Simd<double>>(a); }
NLSQ_INLINE V32 atan(V32 a) { return own::atan<Simd<float>>(a); }
NLSQ_INLINE V64 erf(V64 a) { return own::erf<Simd<double>>(a); }
NLSQ_INLINE V32 erf(V32 a) { return own::erf<Simd<float>>(a); }
NLSQ_INLINE V64 erfc(V64 a) { return own::erfc<Simd<double>>(a); }
NLSQ_INLINE V32 erfc(V32 a) { return own::erfc<Simd<float>>(a); }

// sin(a) and cos(a), each with the same bits as when computed alone. Lanes beyond the range of the reduction
// use SLEEF.
template <class T, class V = typename Simd<T>::V>
NLSQ_INLINE own::SinCos<Simd<T>> sincos_full(V a) {
  using S = Simd<T>;
  const own::SinCos<S> both = own::sincos<S>(a);
  const auto inside = own::has_sincos<S>(a);
  if (!S::any(S::mask_not(inside))) [[likely]]
    return both;
  return {S::choose(inside, both.sine, by_reduction<T>(a, [](V x) { return sleef::sin(x); })),
          S::choose(inside, both.cosine, by_reduction<T>(a, [](V x) { return sleef::cos(x); }))};
}
NLSQ_INLINE V64 sin(V64 a) { return sincos_full<double>(a).sine; }
NLSQ_INLINE V32 sin(V32 a) { return sincos_full<float>(a).sine; }
NLSQ_INLINE V64 cos(V64 a) { return sincos_full<double>(a).cosine; }
NLSQ_INLINE V32 cos(V32 a) { return sincos_full<float>(a).cosine; }

// log(a) and pow(a, b), each with the same bits as when computed alone. Lanes with arguments that are zero,
// negative, infinite, NaN or subnormal doubles use SLEEF.
template <class T, class V = typename Simd<T>::V, class Parts>
NLSQ_INLINE V log_of(V a, const Parts& parts) {
  using S = Simd<T>;
  const V result = own::log(parts);
  const auto inside = own::has_log<S>(a);
  if (!S::any(S::mask_not(inside))) [[likely]]
    return result;
  return S::choose(inside, result, sleef::log(a));
}
template <class T, class V = typename Simd<T>::V, class Parts>
NLSQ_INLINE V pow_of(V a, const Parts& parts, V b) {
  using S = Simd<T>;
  const V result = own::pow(parts, b);
  const auto inside = own::has_pow<S>(a, b);
  if (!S::any(S::mask_not(inside))) [[likely]]
    return result;
  return S::choose(inside, result, sleef::pow(a, b));
}
template <class V>
struct LogPow {
  V logarithm, power;
};
template <class T, class V = typename Simd<T>::V>
NLSQ_INLINE LogPow<V> log_pow(V a, V b) {
  const auto parts = own::log_parts<Simd<T>>(a);
  return {log_of<T>(a, parts), pow_of<T>(a, parts, b)};
}
NLSQ_INLINE V64 log(V64 a) { return log_of<double>(a, own::log_parts<Simd<double>>(a)); }
NLSQ_INLINE V32 log(V32 a) { return log_of<float>(a, own::log_parts<Simd<float>>(a)); }
NLSQ_INLINE V64 pow(V64 a, V64 b) { return pow_of<double>(a, own::log_parts<Simd<double>>(a), b); }
NLSQ_INLINE V32 pow(V32 a, V32 b) { return pow_of<float>(a, own::log_parts<Simd<float>>(a), b); }
#else
using sleef::atan, sleef::erf, sleef::erfc, sleef::exp, sleef::expm1, sleef::log, sleef::pow, sleef::tanh;
NLSQ_INLINE V64 sin(V64 a) {
  return by_reduction<double>(a, [](V64 x) { return sleef::sin(x); });
}
NLSQ_INLINE V32 sin(V32 a) {
  return by_reduction<float>(a, [](V32 x) { return sleef::sin(x); });
}
NLSQ_INLINE V64 cos(V64 a) {
  return by_reduction<double>(a, [](V64 x) { return sleef::cos(x); });
}
NLSQ_INLINE V32 cos(V32 a) {
  return by_reduction<float>(a, [](V32 x) { return sleef::cos(x); });
}
#endif
NLSQ_INLINE V64 tan(V64 a) {
  return by_reduction<double>(a, [](V64 x) { return sleef::tan(x); });
}
NLSQ_INLINE V32 tan(V32 a) {
  return by_reduction<float>(a, [](V32 x) { return sleef::tan(x); });
}

// SLEEF overflows where 1 + x does in its own scaled form.
template <class T, class V = typename Simd<T>::V>
NLSQ_INLINE V log1p_full(V a) {
  using S = Simd<T>;
  const V result = sleef::log1p(a);
  const auto large = S::less(S::set(pick<T>(1e100, 1e20)), a);
  if (!S::any(large)) [[likely]]
    return result;
  return S::choose(large, sleef::log(a), result);
}

// SLEEF squares the argument. Where the 1 under the root is negligible, log |2a| is used instead.
template <class T, class V = typename Simd<T>::V>
NLSQ_INLINE V log_of_twice(V magnitude) {
  return Simd<T>::add(sleef::log(magnitude), Simd<T>::set(static_cast<T>(0.693147180559945309417)));
}
template <class T, class V = typename Simd<T>::V>
NLSQ_INLINE V asinh_full(V a) {
  using S = Simd<T>;
  const V result = sleef::asinh(a), magnitude = S::abs(a);
  const auto large = S::less(S::set(pick<T>(1e100, 1e15)), magnitude);
  if (!S::any(large)) [[likely]]
    return result;
  const V mended = log_of_twice<T>(magnitude);
  return S::choose(large, S::choose(S::less(a, S::zero()), S::neg(mended), mended), result);
}
template <class T, class V = typename Simd<T>::V>
NLSQ_INLINE V acosh_full(V a) {
  using S = Simd<T>;
  const V result = sleef::acosh(a);
  const auto large = S::less(S::set(pick<T>(1e100, 1e15)), a);
  if (!S::any(large)) [[likely]]
    return result;
  return S::choose(large, log_of_twice<T>(a), result);
}

// SLEEF overflows with exp(a), which is twice the result. (exp(a/2) / 2) exp(a/2) is used instead.
template <class T, class V = typename Simd<T>::V>
NLSQ_INLINE V half_exp(V magnitude) {
  const V root = sleef::exp(Simd<T>::mul(magnitude, Simd<T>::set(T(0.5))));
  return Simd<T>::mul(Simd<T>::mul(root, Simd<T>::set(T(0.5))), root);
}
template <class T, class V = typename Simd<T>::V>
NLSQ_INLINE V sinh_full(V a) {
  using S = Simd<T>;
  const V result = sleef::sinh(a), magnitude = S::abs(a);
  const auto large = S::less(S::set(pick<T>(709, 88)), magnitude);
  if (!S::any(large)) [[likely]]
    return result;
  const V mended = half_exp<T>(magnitude);
  return S::choose(large, S::choose(S::less(a, S::zero()), S::neg(mended), mended), result);
}
template <class T, class V = typename Simd<T>::V>
NLSQ_INLINE V cosh_full(V a) {
  using S = Simd<T>;
  const V result = sleef::cosh(a), magnitude = S::abs(a);
  const auto large = S::less(S::set(pick<T>(709, 88)), magnitude);
  if (!S::any(large)) [[likely]]
    return result;
  return S::choose(large, half_exp<T>(magnitude), result);
}

// The pole at 0 has no sign, so the result is NaN as at the other poles.
template <class T, class V = typename Simd<T>::V>
NLSQ_INLINE V gamma_full(V a) {
  using S = Simd<T>;
  return S::choose(S::equal(a, S::zero()), S::set(static_cast<T>(__builtin_nan(""))), sleef::gamma(a));
}

#if !defined(NLSQ_KERNEL_SET_baseline)
// Lanes beyond the range of the own function use SLEEF.
template <class T, class V = typename Simd<T>::V>
NLSQ_INLINE V log1p_of(V a) {
  using S = Simd<T>;
  const V result = own::log1p<S>(a);
  const auto inside = own::has_log1p<S>(a);
  if (!S::any(S::mask_not(inside))) [[likely]]
    return result;
  return S::choose(inside, result, log1p_full<T>(a));
}
NLSQ_INLINE V64 log1p(V64 a) { return log1p_of<double>(a); }
NLSQ_INLINE V32 log1p(V32 a) { return log1p_of<float>(a); }
#else
NLSQ_INLINE V64 log1p(V64 a) { return log1p_full<double>(a); }
NLSQ_INLINE V32 log1p(V32 a) { return log1p_full<float>(a); }
#endif
NLSQ_INLINE V64 asinh(V64 a) { return asinh_full<double>(a); }
NLSQ_INLINE V32 asinh(V32 a) { return asinh_full<float>(a); }
NLSQ_INLINE V64 acosh(V64 a) { return acosh_full<double>(a); }
NLSQ_INLINE V32 acosh(V32 a) { return acosh_full<float>(a); }
NLSQ_INLINE V64 sinh(V64 a) { return sinh_full<double>(a); }
NLSQ_INLINE V32 sinh(V32 a) { return sinh_full<float>(a); }
NLSQ_INLINE V64 cosh(V64 a) { return cosh_full<double>(a); }
NLSQ_INLINE V32 cosh(V32 a) { return cosh_full<float>(a); }
NLSQ_INLINE V64 gamma(V64 a) { return gamma_full<double>(a); }
NLSQ_INLINE V32 gamma(V32 a) { return gamma_full<float>(a); }

}  // namespace elementary
}  // namespace
}  // namespace nlsq::inline v0
