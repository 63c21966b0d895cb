// Computes special functions that the C library lacks, in double.
#include <nlsq/special_functions.hpp>

#include <cmath>
#include <limits>
#include <numbers>

namespace nlsq::inline v0 {
namespace {

constexpr double pi = std::numbers::pi;
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

// Returns exp(x²), corrected for the rounding error of x². Without the correction the relative error is x²
// eps.
double exp_of_square(double x) noexcept {
  const double square = x * x;
  if (square > 710) return std::numeric_limits<double>::infinity();
  const double rest = std::fma(x, x, -square);
  return std::exp(square) * (1 + rest);
}

// Returns erfcx(x) = (1 - 1/(2x²) + 3/(2x²)² - 15/(2x²)³ ...) / (x sqrt pi) for x >= 10 (DLMF 7.12.1).
double erfcx_asymptotic(double x) noexcept {
  const double u = 0.5 / (x * x);
  double sum = 1;
  for (int k = 11; k >= 1; --k) sum = 1 - (2 * k - 1) * u * sum;
  return sum / (x * std::sqrt(pi));
}

// Returns tan(pi x). It reduces x before it multiplies by pi, so that the poles are exact.
double tan_pi(double x) noexcept {
  const double r = x - std::round(x);
  return std::tan(pi * r);
}
double sin_pi_squared(double x) noexcept {
  const double s = std::sin(pi * (x - std::round(x)));
  return s * s;
}

// Taylor series of digamma about its positive zero, where other formulas lose all digits. The coefficients
// are the derivatives of digamma there divided by k!.
double digamma_near_zero(double x) noexcept {
  constexpr double zero = 1.4616321449683622, zero_rest = 9.54999542996569772e-17;
  constexpr double coefficients[] = {
      0.96767224544762117,     -0.442763168983592106,    0.258499760955651011,    -0.163942705442406528,
      0.107824050691262366,    -0.0721995612564547109,   0.0488042881641431072,   -0.0331611264748473593,
      0.0225976482322181047,   -0.0154247659049489591,   0.0105387916166121754,   -0.00720453438635686824,
      0.00492678139572985345,  -0.00336980165543932808,  0.00230512632673492784,  -0.00157693677143019726,
      0.00107882520191629658,  -0.00073807093899600513,  0.000504953265834602035, -0.0003454680251063077,
      0.000236356015640270528, -0.000161706220919748034, 0.000110633727687474109};
  const double d = (x - zero) - zero_rest;
  double sum = 0;
  for (int k = static_cast<int>(std::size(coefficients)) - 1; k >= 0; --k) sum = sum * d + coefficients[k];
  return sum * d;
}

// Returns c0 u - c1 u² + c2 u³ ...
double alternating_series(double u, const double (&c)[8]) {
  double sum = u * c[7];
  for (std::size_t k = 7; k-- > 0;) sum = u * (c[k] - sum);
  return sum;
}

bool is_pole(double x) noexcept { return x <= 0 && x == std::floor(x); }

}  // namespace

double erfcx(double x) noexcept {
  if (x >= 10) return erfcx_asymptotic(x);
  if (x <= -1) return 2 * exp_of_square(x) - erfcx(-x);
  return exp_of_square(x) * std::erfc(x);
}

// Uses the recurrence up to 10, then the asymptotic series DLMF 5.11.2. Negative x use reflection, DLMF
// 5.5.4.
double digamma(double x) noexcept {
  if (is_pole(x) || x == -std::numeric_limits<double>::infinity()) return nan_value;
  if (x < 0) return digamma(1 - x) - pi / tan_pi(x);
  if (std::fabs(x - 1.4616321449683622) < 0.25) return digamma_near_zero(x);
  double shift = 0;
  for (; x < 10; ++x) shift += 1 / x;
  const double series = alternating_series(1 / (x * x), {1.0 / 12, 1.0 / 120, 1.0 / 252, 1.0 / 240, 1.0 / 132,
                                                         691.0 / 32760, 1.0 / 12, 3617.0 / 8160});
  return std::log(x) - 0.5 / x - series - shift;
}

// Uses the recurrence up to 10, then DLMF 5.15.8. Negative x use reflection, DLMF 5.15.6.
double trigamma(double x) noexcept {
  if (x == -std::numeric_limits<double>::infinity()) return nan_value;
  if (is_pole(x)) return std::numeric_limits<double>::infinity();
  if (x < 0) return pi * pi / sin_pi_squared(x) - trigamma(1 - x);
  double sum = 0;
  for (; x < 10; ++x) sum += 1 / (x * x);
  const double series = alternating_series(
      1 / (x * x), {1.0 / 6, 1.0 / 30, 1.0 / 42, 1.0 / 30, 5.0 / 66, 691.0 / 2730, 7.0 / 6, 3617.0 / 510});
  return sum + (1 + 0.5 / x + series) / x;
}

double gamma_function(double x) noexcept { return is_pole(x) ? nan_value : std::tgamma(x); }

double lgamma_function(double x) noexcept {
#if defined(__GLIBC__) || defined(__APPLE__)
  int sign = 0;
  return ::lgamma_r(x, &sign);  // std::lgamma writes the global signgam and is not thread-safe
#else
  return std::lgamma(x);
#endif
}

double besj0(double x) noexcept { return ::j0(x); }
double besj1(double x) noexcept { return ::j1(x); }

double voigt(double x, double sigma, double gamma) noexcept {
  if (sigma == 0) {
    if (gamma == 0) return x == 0 ? std::numeric_limits<double>::infinity() : x == x ? 0 : x;
    return gamma / pi / (x * x + gamma * gamma);
  }
  if (gamma == 0) {
    const double t = x / sigma;
    return std::exp(-0.5 * t * t) / (sigma * std::sqrt(2 * pi));
  }
  const double unit = 1 / (sigma * std::numbers::sqrt2);
  return wofz({x * unit, gamma * unit}).real() * unit / std::sqrt(pi);
}

}  // namespace nlsq::inline v0
