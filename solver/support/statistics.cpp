// Computes distributions for p-values and confidence intervals. Continued fractions are evaluated by Lentz's
// method (W. J. Lentz, Appl. Opt. 15 (1976) 668): DLMF 8.17.22 for the incomplete beta function, 8.9.2 for
// the incomplete gamma function. Below its mean, the latter uses the series 8.7.1.
#include <nlsq/statistics.hpp>

#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr double kTiny = 1e-300;
constexpr int kMaxTerms = 100000;  // needs about the square root of the largest argument
// For more degrees of freedom than this, Student's distribution is expanded about the normal one.
constexpr double kManyDof = 1e4;

double kept_from_zero(double v) { return std::fabs(v) < kTiny ? kTiny : v; }

// Stirling's corrections (DLMF 5.11.1). log_beta, log(Gamma(a) Gamma(b) / Gamma(a+b)), uses them for large a
// and b so as not to lose the small difference of large logarithms.
double stirling_correction(double z) {
  const double w = 1 / (z * z);
  return (1.0 / 12 - w * (1.0 / 360 - w * (1.0 / 1260 - w * (1.0 / 1680 - w / 1188)))) / z;
}

double log_beta(double a, double b) {
  if (a > b) std::swap(a, b);
  if (b < 20) return std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b);
  // lgamma(b) - lgamma(a+b)
  const double difference = (b - 0.5) * -std::log1p(a / b) - a * std::log(a + b) + a +
                            stirling_correction(b) - stirling_correction(a + b);
  return std::lgamma(a) + difference;
}

double beta_fraction(double a, double b, double x) {
  double c = 1, d = 1 / kept_from_zero(1 - (a + b) * x / (a + 1)), h = d;
  for (int m = 1; m <= kMaxTerms; ++m) {
    const double m2 = 2.0 * m;
    const double even = m * (b - m) * x / ((a + m2 - 1) * (a + m2));
    d = 1 / kept_from_zero(1 + even * d);
    c = kept_from_zero(1 + even / c);
    h *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + m2) * (a + m2 + 1));
    d = 1 / kept_from_zero(1 + odd * d);
    c = kept_from_zero(1 + odd / c);
    h *= d * c;
    if (std::fabs(d * c - 1) < kEps) break;
  }
  return h;
}

// Computes the function from x and its complement, so that neither loses digits.
double incomplete_beta(double a, double b, double x, double complement) {
  if (x <= 0) return 0;
  if (complement <= 0) return 1;
  const double log_x = complement < 0.5 ? std::log1p(-complement) : std::log(x);
  const double log_complement = x < 0.5 ? std::log1p(-x) : std::log(complement);
  const double front = std::exp(a * log_x + b * log_complement - log_beta(a, b));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, complement) / b;
}

// Computes x^a e^-x / Gamma(a). For large a, with d = (x - a)/a: sqrt(a/2pi) exp(-a (d - log(1+d))) over
// Stirling's correction. The plain form subtracts numbers of the size of a log a.
double gamma_front(double a, double x) {
  if (a < 20) return std::exp(a * std::log(x) - x - std::lgamma(a));
  const double d = (x - a) / a;
  double r = d - std::log1p(d);
  if (std::fabs(d) < 0.3) {  // log(1+d) = 2 atanh(y), y = d/(2+d), and d - 2y = d y
    const double y = d / (2 + d), y2 = y * y;
    double tail = 0;
    for (int k = 21; k >= 3; k -= 2) tail = tail * y2 + 1.0 / k;
    r = d * y - 2 * y * y2 * tail;
  }
  return std::sqrt(a / (2 * M_PI)) * std::exp(-a * r - stirling_correction(a));
}

// Returns P(|T| > t), the small side, without cancellation.
double student_t_outside(double t, double dof) {
  const double whole = dof + t * t;
  return incomplete_beta(dof / 2, 0.5, dof / whole, t * t / whole);
}

double normal_quantile(double confidence) {
  // Solves erfc(z/sqrt 2) = 1 - confidence by bisection.
  double low = 0, high = 40;
  for (;;) {
    const double middle = 0.5 * (low + high);
    if (middle <= low || middle >= high) return middle;
    // Compares on the side that keeps its digits.
    const bool below = confidence < 0.5 ? std::erf(middle * M_SQRT1_2) < confidence
                                        : std::erfc(middle * M_SQRT1_2) > 1 - confidence;
    (below ? low : high) = middle;
  }
}

// Computes t from the normal quantile in powers of 1/dof (Abramowitz and Stegun 26.7.5).
double expanded_quantile(double z, double dof) {
  const double z2 = z * z;
  return z + z * (z2 + 1) / (4 * dof) + z * ((5 * z2 + 16) * z2 + 3) / (96 * dof * dof) +
         z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / (384 * dof * dof * dof);
}

}  // namespace

double incomplete_beta(double a, double b, double x) { return incomplete_beta(a, b, x, 1 - x); }

double incomplete_gamma_upper(double a, double x) {
  if (x <= 0) return 1;
  if (std::isinf(x)) return 0;
  const double front = gamma_front(a, x);
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (double n = a + 1; std::fabs(term) > sum * kEps / 4; ++n) sum += term *= x / n;
    return 1 - front * sum;
  }
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / kept_from_zero(b), h = d;
  for (int i = 1; i <= kMaxTerms; ++i) {
    const double an = -i * (i - a);
    b += 2;
    d = 1 / kept_from_zero(an * d + b);
    c = kept_from_zero(b + an / c);
    h *= d * c;
    if (std::fabs(d * c - 1) < kEps) break;
  }
  return front * h;
}

double student_t_coverage(double t, double dof) {
  if (std::isinf(dof)) return std::erf(t / std::sqrt(2.0));
  return 1 - student_t_outside(t, dof);
}

double student_t_quantile(double confidence, double dof) {
  if (!(dof > 0)) return std::numeric_limits<double>::quiet_NaN();
  const double z = normal_quantile(confidence);
  if (std::isinf(dof)) return z;
  if (dof > kManyDof) return expanded_quantile(z, dof);
  // Bisection in log t, because the tail with one degree of freedom is long.
  const double outside = 1 - confidence;
  double low = std::log(z), high = std::log(z) + 1;
  while (student_t_outside(std::exp(high), dof) > outside) high += high - low;
  for (int i = 0; i < 200 && high - low > kEps; ++i) {
    const double middle = 0.5 * (low + high);
    if (middle <= low || middle >= high) break;
    (student_t_outside(std::exp(middle), dof) > outside ? low : high) = middle;
  }
  return std::exp(0.5 * (low + high));
}

double chi_square_p_value(double value, double dof) {
  if (!(dof > 0)) return std::numeric_limits<double>::quiet_NaN();
  return incomplete_gamma_upper(dof / 2, value / 2);
}

}  // namespace nlsq::inline v0
