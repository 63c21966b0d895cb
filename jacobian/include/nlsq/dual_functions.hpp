// Defines the functions of <cmath> for dual numbers. Part of <nlsq/dual.hpp>; not to be included alone.
#pragma once

namespace nlsq::inline v0 {

// A function is given by its slope, an expression in x and the value f.
#define NLSQ_DUAL_UNARY(function, using_name, slope)                                    \
  template <class T, int N>                                                             \
  Dual<T, N> function(const Dual<T, N>& a) {                                            \
    using using_name;                                                                   \
    using std::copysign, std::cos, std::cosh, std::exp, std::sin, std::sinh, std::sqrt; \
    const T& x = a.value();                                                             \
    const T f = function(x);                                                            \
    return Dual<T, N>::chain(f, a, slope);                                              \
  }
#define NLSQ_DUAL_STD(function, slope) NLSQ_DUAL_UNARY(function, std::function, slope)

NLSQ_DUAL_STD(abs, copysign(T(1), x))
NLSQ_DUAL_STD(fabs, copysign(T(1), x))
NLSQ_DUAL_STD(floor, T(0))
NLSQ_DUAL_STD(ceil, T(0))
NLSQ_DUAL_STD(trunc, T(0))
NLSQ_DUAL_STD(round, T(0))
NLSQ_DUAL_STD(sqrt, T(1) / (f + f))
NLSQ_DUAL_STD(cbrt, T(1) / (T(3) * f * f))
NLSQ_DUAL_STD(exp, f)
NLSQ_DUAL_STD(exp2, T(std::numbers::ln2) * f)
NLSQ_DUAL_STD(expm1, exp(x))
NLSQ_DUAL_STD(log, T(1) / x)
NLSQ_DUAL_STD(log10, T(1) / (T(std::numbers::ln10) * x))
NLSQ_DUAL_STD(log2, T(1) / (T(std::numbers::ln2) * x))
NLSQ_DUAL_STD(log1p, T(1) / (T(1) + x))
NLSQ_DUAL_STD(sin, cos(x))
NLSQ_DUAL_STD(cos, -sin(x))
NLSQ_DUAL_STD(tan, T(1) + f * f)
NLSQ_DUAL_STD(asin, T(1) / sqrt((T(1) - x) * (T(1) + x)))
NLSQ_DUAL_STD(acos, T(-1) / sqrt((T(1) - x) * (T(1) + x)))
NLSQ_DUAL_STD(atan, T(1) / (T(1) + x * x))
NLSQ_DUAL_STD(sinh, cosh(x))
NLSQ_DUAL_STD(cosh, sinh(x))
NLSQ_DUAL_STD(tanh, (T(1) - f) * (T(1) + f))
NLSQ_DUAL_STD(asinh, T(1) / sqrt(T(1) + x * x))
NLSQ_DUAL_STD(acosh, T(1) / sqrt((x - T(1)) * (x + T(1))))
NLSQ_DUAL_STD(atanh, T(1) / ((T(1) - x) * (T(1) + x)))
// The derivatives are those of DLMF 7.2, 5.2, 5.15 and 10.6.
NLSQ_DUAL_STD(erf, detail::kTwoOverSqrtPi<T>* exp(-x* x))
NLSQ_DUAL_STD(erfc, -detail::kTwoOverSqrtPi<T>* exp(-x* x))
NLSQ_DUAL_UNARY(erfcx, nlsq::erfcx, T(2) * x * f - detail::kTwoOverSqrtPi<T>)
NLSQ_DUAL_UNARY(digamma, nlsq::digamma, trigamma(x))
NLSQ_DUAL_UNARY(gamma_function, nlsq::gamma_function, f* digamma(x))
NLSQ_DUAL_UNARY(lgamma_function, nlsq::lgamma_function, digamma(x))
NLSQ_DUAL_UNARY(besj1, nlsq::besj1, (x == T(0) ? T(0.5) : besj0(x) - f / x))
NLSQ_DUAL_UNARY(besj0, nlsq::besj0, -besj1(x))
#undef NLSQ_DUAL_STD
#undef NLSQ_DUAL_UNARY

template <class T, int N>
Dual<T, N> tgamma(const Dual<T, N>& a) {
  return gamma_function(a);
}
template <class T, int N>
Dual<T, N> lgamma(const Dual<T, N>& a) {
  return lgamma_function(a);
}
template <class T, int N>
Dual<T, N> norm(const Dual<T, N>& a) {
  return a * a;
}
template <class T, int N>
Dual<T, N> sign(const Dual<T, N>& a) {
  const T& x = a.value();
  return Dual<T, N>(x > T(0) ? T(1) : x < T(0) ? T(-1) : x);
}

// The base and the exponent may each be a plain number. At base 0, the slope in the base is 0 if the exponent
// exceeds 1, and 1 if the exponent is 1. If the base is negative and the exponent an integer, the slope in
// the base is finite and the slope in the exponent is NaN.
template <class A, class B, class D = detail::CommonDual<A, B>>
D pow(const A& base, const B& exponent) {
  using std::floor, std::log, std::pow;
  using T = std::remove_cvref_t<decltype(D().value())>;
  const T x = detail::plain(base), e = detail::plain(exponent);
  const T f = pow(x, e);
  T slope_base(0), slope_exponent(0);
  if constexpr (detail::is_dual<A>) {
    if (x == T(0) && e >= T(1)) slope_base = e == T(1) ? T(1) : T(0);
    else if (e != T(0)) slope_base = e * pow(x, e - T(1));
  }
  if constexpr (detail::is_dual<B>) {
    if (x < T(0) && e == floor(e)) slope_exponent = T(std::numeric_limits<T>::quiet_NaN());
    else if (x != T(0) || e <= T(0)) slope_exponent = f * log(x);  // 0^e stays 0 for e > 0
  }
  return D::chain(f, D(base), slope_base, D(exponent), slope_exponent);
}

template <class A, class B, class D = detail::CommonDual<A, B>>
D atan2(const A& y, const B& x) {
  using std::atan2;
  using T = std::remove_cvref_t<decltype(D().value())>;
  const T a = detail::plain(y), b = detail::plain(x);
  const T squared = a * a + b * b;
  return D::chain(atan2(a, b), D(y), b / squared, D(x), -a / squared);
}

template <class A, class B, class D = detail::CommonDual<A, B>>
D hypot(const A& x, const B& y) {
  using std::hypot;
  using T = std::remove_cvref_t<decltype(D().value())>;
  const T a = detail::plain(x), b = detail::plain(y);
  const T length = hypot(a, b);
  return D::chain(length, D(x), a / length, D(y), b / length);
}

template <class A, class B, class C, class D = detail::CommonDual<A, B, C>>
D hypot(const A& x, const B& y, const C& z) {
  return hypot(hypot(D(x), D(y)), D(z));
}

template <class A, class B, class D = detail::CommonDual<A, B>>
D fmod(const A& x, const B& y) {  // x - trunc(x/y) y
  using std::fmod, std::trunc;
  using T = std::remove_cvref_t<decltype(D().value())>;
  const T a = detail::plain(x), b = detail::plain(y);
  return D::chain(fmod(a, b), D(x), T(1), D(y), -trunc(a / b));
}

// These select the same argument as std::min and std::max.
template <class A, class B, class D = detail::CommonDual<A, B>>
D min(const A& a, const B& b) {
  return detail::plain(b) < detail::plain(a) ? D(b) : D(a);
}
template <class A, class B, class D = detail::CommonDual<A, B>>
D max(const A& a, const B& b) {
  return detail::plain(a) < detail::plain(b) ? D(b) : D(a);
}
template <class A, class B, class C, class D = detail::CommonDual<A, B, C>>
D clamp(const A& x, const B& low, const C& high) {
  return min(max(D(x), D(low)), D(high));
}

// These ignore a NaN argument. At a tie they select the second argument, or the dual number if the other is
// plain.
template <class A, class B, class D = detail::CommonDual<A, B>>
D fmin(const A& a, const B& b) {
  using std::isnan;
  if constexpr (!detail::is_dual<A>) return fmin(b, a);
  else return detail::plain(a) < detail::plain(b) || isnan(detail::plain(b)) ? D(a) : D(b);
}
template <class A, class B, class D = detail::CommonDual<A, B>>
D fmax(const A& a, const B& b) {
  using std::isnan;
  if constexpr (!detail::is_dual<A>) return fmax(b, a);
  else return detail::plain(b) < detail::plain(a) || isnan(detail::plain(b)) ? D(a) : D(b);
}
template <class A, class B, class D = detail::CommonDual<A, B>>
D fdim(const A& a, const B& b) {
  return detail::plain(a) <= detail::plain(b) ? D(0) : D(a) - D(b);
}
template <class A, class B, class D = detail::CommonDual<A, B>>
D copysign(const A& a, const B& b) {
  using std::signbit;
  const D size = abs(D(a));
  return signbit(detail::plain(b)) ? -size : size;
}
template <class A, class B, class C, class D = detail::CommonDual<A, B, C>>
D fma(const A& a, const B& b, const C& c) {
  return D(a) * D(b) + D(c);
}

// This is the Faddeeva function w(z) = u + iv with z = x + iy. Its derivative is w' = -2 z w + 2i/sqrt(pi)
// (DLMF 7.10).
inline double wofz_re(double x, double y) { return wofz({x, y}).real(); }
inline double wofz_im(double x, double y) { return wofz({x, y}).imag(); }
template <class A, class B, class D = detail::CommonDual<A, B>>
D wofz_re(const A& re, const B& im) {
  using T = std::remove_cvref_t<decltype(D().value())>;
  const T x = detail::plain(re), y = detail::plain(im), u = wofz_re(x, y), v = wofz_im(x, y);
  return D::chain(u, D(re), T(2) * (y * v - x * u), D(im),
                  T(2) * (x * v + y * u) - detail::kTwoOverSqrtPi<T>);
}
template <class A, class B, class D = detail::CommonDual<A, B>>
D wofz_im(const A& re, const B& im) {
  using T = std::remove_cvref_t<decltype(D().value())>;
  const T x = detail::plain(re), y = detail::plain(im), u = wofz_re(x, y), v = wofz_im(x, y);
  return D::chain(v, D(re), detail::kTwoOverSqrtPi<T> - T(2) * (x * v + y * u), D(im),
                  T(2) * (y * v - x * u));
}

#define NLSQ_DUAL_QUESTION(result, function) \
  template <class T, int N>                  \
  result function(const Dual<T, N>& a) {     \
    using std::function;                     \
    return function(a.value());              \
  }
NLSQ_DUAL_QUESTION(bool, isnan)
NLSQ_DUAL_QUESTION(bool, isinf)
NLSQ_DUAL_QUESTION(bool, isfinite)
NLSQ_DUAL_QUESTION(bool, isnormal)
NLSQ_DUAL_QUESTION(bool, signbit)
NLSQ_DUAL_QUESTION(int, fpclassify)
#undef NLSQ_DUAL_QUESTION

}  // namespace nlsq::inline v0
