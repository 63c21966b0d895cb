// Computes erfcx and the Faddeeva function for vectors of doubles, for sets with a fused multiply-add. Floats
// are widened. Methods and sources are those of special_functions.cpp and faddeeva.cpp, without branches for
// single lanes. README.md lists the error bounds.
#pragma once

#include "expression/faddeeva_weights.hpp"
#include "kernels/functions/elementary.hpp"

namespace nlsq::inline v0 {
namespace {
namespace special {

using S = Simd<double>;
using V = S::V;

NLSQ_INLINE V set(double value) { return S::set(value); }

// Returns exp(high + low), where low is a rounding error of high. The result is infinite where exp(high) is.
NLSQ_INLINE V exp_of_sum(V high, V low) { return S::mul(elementary::exp(high), S::add(set(1), low)); }

// Returns erfcx(x) for x >= 0. (1 + 2x) erfcx(x), as a function of t = (x - 3.75) / (x + 3.75), is a
// Chebyshev series to 2e-18, written as a polynomial (the variable is that of Shepherd and Laframboise, Math.
// Comp. 36, 1981).
NLSQ_INLINE V erfcx_positive(V x) {
  constexpr double coefficients[] = {
      1.23751263083782758,      -0.140240598585546962,    0.00358541548546442937,    0.0822767384901452077,
      -0.108803930141748857,    0.0923043211603774778,    -0.0586933985896367741,    0.0283622774189564043,
      -0.00974657955802927553,  0.00175562585289529536,   0.00029371366559134482,    -0.000290154080540841711,
      0.0000516490988926824034, 0.0000223842391550822298, -0.0000114441462377005234, -9.73559896736774934e-7,
      1.75163764884906214e-6,   -5.72182306032240875e-8,  -2.58668507161558854e-7,   2.32635087088591237e-8,
      3.86753342422223568e-8,   -3.74421008096201864e-9,  -5.17399021401130963e-9,   3.1114333809799252e-10,
      4.25147144479638978e-10};
  const V most = set(1e18);  // from here on t is 1, also for infinity
  const V bounded = S::choose(S::less(most, x), most, x);
  const V t = S::div(S::sub(bounded, set(3.75)), S::add(bounded, set(3.75)));
  constexpr int count = sizeof coefficients / sizeof *coefficients;
  V sum = set(coefficients[count - 1]);
#pragma GCC unroll 32
  for (int k = count - 2; k >= 0; --k) sum = S::mul_add(sum, t, set(coefficients[k]));
  return S::div(sum, S::mul_add(x, set(2), set(1)));
}

NLSQ_INLINE V erfcx(V x) {
  const V magnitude = S::abs(x);
  const V positive = erfcx_positive(magnitude);
  const auto negative = S::less(x, S::zero());
  if (!S::any(negative)) [[likely]]
    return positive;
  // For negative x the result is 2 exp(x²) - erfcx(-x). At 30 the square already exceeds exp's range.
  const V bounded = S::choose(S::less(set(30), magnitude), set(30), magnitude);
  const V square = S::mul(bounded, bounded);
  const V e = exp_of_sum(square, S::mul_sub(bounded, bounded, square));
  return S::choose(negative, S::mul_sub(set(2), e, positive), positive);
}

struct Parts {
  V re, im;
};

// Returns true if the vector form is valid in all lanes. Otherwise some lanes need the scalar function.
NLSQ_INLINE bool in_upper_half(V x, V y) {
  const V most = set(1e60);
  const auto outside =
      S::mask_or(S::less(y, S::zero()), S::mask_or(S::less(most, S::abs(x)), S::less(most, y)));
  return !S::any(outside);
}

// Returns 2 exp(-z²) / (1 + s exp(-2 pi i z / step)) for x >= 0. It is zero where exp(-z²) underflows.
NLSQ_INLINE Parts pole_term(V x, V y, V turns, V s) {
  const V x2 = S::mul(x, x), y2 = S::mul(y, y);
  const V difference = S::sub(y2, x2);
  const V kept = S::add(difference, x2);
  V rest = S::sub(S::sub(y2, kept), S::sub(x2, S::sub(kept, difference)));
  rest = S::add(rest, S::sub(S::mul_sub(y, y, y2), S::mul_sub(x, x, x2)));
  const V size = S::mul(set(2), exp_of_sum(difference, rest));
  const V q = elementary::exp(S::mul(y, set(-6.283185307179586 * faddeeva::per_step)));
  const auto circle = sleef::sincospi(S::mul(turns, set(2)));
  const V cosine = S::mul(s, circle.cosine), sine = S::mul(s, circle.sine);
  const V denominator = S::mul_add(S::mul_add(set(2), cosine, q), q, set(1));
  const V scale = S::div(S::mul(size, q), denominator);
  const V re = S::add(q, cosine);
  const auto phase = sleef::sincos(S::mul(S::mul(set(2), x), y));
  const auto underflows = S::equal(size, S::zero());
  const Parts term{S::mul(scale, S::mul_add(phase.cosine, re, S::mul(phase.sine, sine))),
                   S::mul(scale, S::mul_sub(phase.cosine, sine, S::mul(phase.sine, re)))};
  return {S::choose(underflows, S::zero(), term.re), S::choose(underflows, S::zero(), term.im)};
}

// Returns w(x + iy) where in_upper_half().
NLSQ_INLINE Parts wofz(V signed_x, V y) {
  namespace f = faddeeva;
  const V x = S::abs(signed_x);
  const V steps = S::mul(x, set(f::per_step)), nearest = S::round(steps);
  const V turns = S::mul_add(x, set(f::per_step_rest), S::mul_sub(x, set(f::per_step), nearest));
  const auto trapezoid = S::mask_and(S::less(y, x), S::less_equal(set(0.25), S::abs(turns)));

  const V y2 = S::mul(y, y), size2 = S::mul_add(x, x, y2);
  V plus = S::zero(), minus = S::zero();
#pragma GCC unroll 16
  for (int k = f::terms - 1; k >= 0; --k) {
    // The trapezoidal rule has one term less and the node at 0, so its last node has weight zero.
    const double trapezoid_weight = k + 1 < f::terms ? f::trapezoid_weight[k] : 0.0;
    const V t = S::choose(trapezoid, set((k + 1) * f::step), set((k + 0.5) * f::step));
    const V weight = S::choose(trapezoid, set(trapezoid_weight), set(f::midpoint_weight[k]));
    const V below = S::sub(x, t), above = S::add(x, t), t2 = S::mul(t, t);
    const V w = S::div(weight, S::mul(S::mul_add(below, below, y2), S::mul_add(above, above, y2)));
    plus = S::mul_add(w, S::add(size2, t2), plus);
    minus = S::mul_add(w, S::sub(size2, t2), minus);
  }
  const V at_zero = S::choose(trapezoid, S::div(set(0.5), size2), S::zero());
  const V factor = set(2 * f::step / 3.141592653589793);
  V re = S::mul(S::mul(factor, y), S::add(plus, at_zero));
  V im = S::mul(S::mul(factor, x), S::add(minus, at_zero));

  const auto pole = S::mask_or(S::less(y, x), S::less(y, set(3.141592653589793 * f::per_step)));
  const auto matters = S::mask_and(pole, S::less(x, set(28)));
  if (S::any(matters)) {
    const Parts term = pole_term(x, y, turns, S::choose(trapezoid, set(-1), set(1)));
    re = S::choose(matters, S::add(re, term.re), re);
    im = S::choose(matters, S::add(im, term.im), im);
  }
  return {re, S::choose(S::less(signed_x, S::zero()), S::neg(im), im)};
}

}  // namespace special
}  // namespace
}  // namespace nlsq::inline v0
