// Computes the Faddeeva function, by the trapezoidal and midpoint rules for its integral
//
//    w(z) = (i/pi) ∫ exp(-t²) / (z - t) dt,  Im z > 0,
//
//  with a correction for the pole at t = z (Chiarella and Reichel, Math. Comp. 22, 1968; Al Azah and
//  Chandler-Wilde, SIAM J. Numer. Anal. 59, 2021). The step makes the error of the rules less than 1e-16. The
//  rule whose nodes are farther from Re z is used. Real and imaginary parts are summed separately, the real
//  part in terms of one sign, so that a tiny real part (a Voigt profile far from its centre) keeps its
//  relative precision.
#include "expression/faddeeva_weights.hpp"

#include <nlsq/special_functions.hpp>

#include <cmath>
#include <limits>
#include <numbers>

namespace nlsq::inline v0 {
namespace faddeeva {
namespace {

constexpr double pi = std::numbers::pi;
struct Parts {
  double re = 0, im = 0;
};

// Returns Σ weight_k i z / (z² - t_k²), with t_k = (first + k) step.
template <int N>
Parts rule(double x, double y, const double (&weight)[N], double first) {
  const double y2 = y * y, size2 = x * x + y2;
  double plus = 0, minus = 0;
  for (int k = N - 1; k >= 0; --k) {
    const double t = (first + k) * step, t2 = t * t;
    const double below = x - t, above = x + t;
    const double w = weight[k] / ((below * below + y2) * (above * above + y2));
    plus += w * (size2 + t2);
    minus += w * (size2 - t2);
  }
  return {y * plus, x * minus};
}

// Returns exp(y² - x²), corrected for the rounding errors of the squares.
double exp_of_difference(double x, double y) {
  const double x2 = x * x, y2 = y * y;
  const double x_rest = std::fma(x, x, -x2), y_rest = std::fma(y, y, -y2);
  const double difference = y2 - x2;
  const double kept = difference + x2;  // Knuth's two-sum
  const double rest = (y2 - kept) - (x2 - (kept - difference));
  return std::exp(difference) * (1 + (y_rest - x_rest + rest));
}

// Returns 2 exp(-z²) / (1 + s exp(-2 pi i z / step)). s is 1 for the midpoint rule, -1 for the trapezoidal
// one.
Parts pole_term(double x, double y, double turns, double s) {
  const double size = 2 * exp_of_difference(x, y);
  if (size == 0) return {};
  const double q = std::exp(-2 * pi * y * per_step);
  const double cosine = s * std::cos(2 * pi * turns), sine = s * std::sin(2 * pi * turns);
  const double scale = size * q / (1 + 2 * q * cosine + q * q);
  const double re = q + cosine, im = sine;
  const double phase = 2 * x * y, c = std::cos(phase), d = std::sin(phase);
  return {scale * (c * re + d * im), scale * (c * im - d * re)};
}

// Returns i / (sqrt(pi) z) (1 + 1/(2z²) + 3/(4z⁴) + 15/(8z⁶)), for |z| >= 1000.
Parts far(double x, double y) {
  const double top = std::fmax(x, y);
  if (std::isinf(top)) return {};
  const double xs = x / top, ys = y / top;
  const double inverse = 1 / (xs * xs + ys * ys) / top;  // 1/z = (xs - i ys) inverse
  const double a = xs * inverse, b = -ys * inverse;
  const double re2 = 0.5 * (a - b) * (a + b), im2 = a * b;  // 1/(2z²)
  const Parts inner{1 + 5 * re2, 5 * im2};
  const Parts middle{1 + 3 * (re2 * inner.re - im2 * inner.im), 3 * (re2 * inner.im + im2 * inner.re)};
  const Parts outer{1 + (re2 * middle.re - im2 * middle.im), re2 * middle.im + im2 * middle.re};
  const double unit = 1 / std::sqrt(pi);
  return {unit * (-b * outer.re - a * outer.im), unit * (a * outer.re - b * outer.im)};
}

// Returns w(x + iy) for x >= 0 and y >= 0.
Parts quadrant(double x, double y) {
  if (x + y >= 1000) return far(x, y);
  // This is the distance of x from the nearest node, in steps, computed without cancellation.
  const double steps = x * per_step, nearest = std::round(steps);
  const double turns = (std::fma(x, per_step, -nearest)) + x * per_step_rest;
  const double factor = 2 * step / pi;
  if (y < x && std::fabs(turns) >= 0.25) {
    Parts sum = rule(x, y, trapezoid_weight, 1);
    const double at_zero = 0.5 / (x * x + y * y);
    const Parts pole = pole_term(x, y, turns, -1);
    return {factor * (sum.re + y * at_zero) + pole.re, factor * (sum.im + x * at_zero) + pole.im};
  }
  const Parts sum = rule(x, y, midpoint_weight, 0.5);
  if (y >= std::fmax(x, pi * per_step)) return {factor * sum.re, factor * sum.im};
  const Parts pole = pole_term(x, y, turns, 1);
  return {factor * sum.re + pole.re, factor * sum.im + pole.im};
}

}  // namespace
}  // namespace faddeeva

std::complex<double> wofz(std::complex<double> z) noexcept {
  const double x = std::fabs(z.real()), y = std::fabs(z.imag());
  if (std::isnan(x) || std::isnan(y)) {
    constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
    return {nan_value, nan_value};
  }
  faddeeva::Parts w = faddeeva::quadrant(x, y);
  if (z.imag() < 0) {
    // w(conj z) = 2 exp(-conj(z)²) - conj w(z), for z in the first quadrant.
    const double size = 2 * faddeeva::exp_of_difference(x, y), phase = 2 * x * y;
    const double re = size * std::cos(phase), im = size * std::sin(phase);
    w = {re - w.re, im + w.im};
  }
  return {w.re, std::signbit(z.real()) ? -w.im : w.im};
}

}  // namespace nlsq::inline v0
