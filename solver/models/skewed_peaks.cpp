// Defines built-in asymmetric peaks: skew Gaussian, exponentially modified Gaussian, Fano resonance.
#include "models/guesses/peak_fit.hpp"
#include "models/guesses/separable.hpp"
#include "models/model_families.hpp"

#include <nlsq/special_functions.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace nlsq::inline v0::guessing {
namespace {

constexpr TrialRange kTrialX = {0, 10};

std::vector<double> skew_gaussian(const Sample& sample) {
  PeakProblem problem;
  problem.shape = [](std::span<double> z, std::span<const double> alpha) {
    for (double& value : z)
      value = std::exp(-value * value / 2) * (1 + std::erf(alpha[0] * value / std::numbers::sqrt2));
  };
  problem.extra_starts = {{0.0}, {3.0}, {-3.0}};
  problem.extra_lower = {-50};
  problem.extra_upper = {50};
  const PeakFit fit = fit_peak(sample, problem);
  return {fit.height, fit.centre, fit.width, fit.extra[0], fit.background};
}

// Computes a Gaussian of width 1 convolved with an exponential tail of length exp(extra), of unit area. It
// has the same two branches as the formula.
double modified_at(double z, double tau) {
  const double s = (1 / tau - z) / std::numbers::sqrt2;
  if (z > 1 / tau) return std::exp(1 / (2 * tau * tau) - z / tau) * std::erfc(s) / (2 * tau);
  return std::exp(-z * z / 2) * erfcx(s) / (2 * tau);
}

void modified_shape(std::span<double> z, std::span<const double> log_tau) {
  const double tau = std::exp(log_tau[0]);
  for (double& value : z) value = modified_at(value, tau);
}

std::vector<double> modified_gaussian(const Sample& sample) {
  PeakProblem problem;
  problem.shape = modified_shape;
  problem.width_per_box = 0.4;
  problem.extra_starts = {{std::log(0.3)}, {std::log(2.0)}};
  problem.extra_lower = {std::log(0.02)};
  problem.extra_upper = {std::log(50.0)};
  // A peak whose tail is cut off looks like a dip before it, so that many starts are dips.
  problem.effort = {.keep = 10, .finalists = 4, .rival = 1e9};
  const PeakFit fit = fit_peak(sample, problem);
  return {fit.height * fit.width, fit.width * std::exp(fit.extra[0]), fit.centre, fit.width, fit.background};
}

// Fits a Fano resonance. Its formula h (q+e)²/(1+e²) + c with e = 2 (x-x0)/g equals A/(1+e²) + B e/(1+e²) +
// C, which is linear for given x0 and g: A = h (q²-1), B = 2 h q, C = h + c. Two q satisfy A/B = (q²-1)/(2q);
// the result is the one with h > 0.
std::vector<double> fano(const Sample& sample) {
  const std::vector<double> u = sample.unit_x();
  Separable problem(sample, u, 3, {kCentreLow, narrowest_log_width(u.size())},
                    {kCentreHigh, kWidestLogWidth});
  problem.basis = [](std::span<const double> at, std::span<const double> q, double* columns) {
    const std::size_t n = at.size();
    const double width = std::exp(q[1]);
    for (std::size_t i = 0; i < n; ++i) {
      const double e = 2 * (at[i] - q[0]) / width;
      columns[i] = 1 / (1 + e * e);
      columns[n + i] = e / (1 + e * e);
      columns[2 * n + i] = 1;
    }
  };
  std::vector<std::vector<double>> starts;
  for (const Bump& bump : find_bumps(u, sample.y, sample.weight))
    for (const double shift : {-1.0, 0.0, 1.0})
      starts.push_back({bump.centre + shift * bump.half_width, std::log(1.5 * bump.half_width)});
  const Solution best = search(problem, starts, {.keep = 4});
  const double A = best.c[0], B = best.c[1];
  // Solves q² - 2 (A/B) q - 1 = 0 with h = B / (2q) > 0: q = (A + M)/B, M = hypot(A, B) = h (q² + 1).
  const double magnitude = std::hypot(A, B);
  double q = 0;
  if (magnitude > 0) q = A < 0 ? B / (magnitude - A) : (A + magnitude) / (B != 0 ? B : 1e-300);
  q = std::clamp(q, -1e6, 1e6);
  const double h = magnitude / (q * q + 1);
  return {h, q, std::exp(best.q[1]) * sample.span, sample.x_min + best.q[0] * sample.span, best.c[2] - h};
}

}  // namespace

void add_skewed_peaks(std::vector<Model>& models) {
  add(models, "skew_gaussian", "h*exp(-(x-mu)^2/(2*sigma^2))*(1+erf(alpha*(x-mu)/(sigma*sqrt(2))))+c",
      "skew Gaussian peak on a constant background",
      {{"h", "height scale (units of y): the height where alpha = 0", {1, 10}},
       {"mu", "location (units of x)", {3, 7}},
       {"sigma", "scale (units of x)", {0.5, 1.5}},
       {"alpha", "skewness (pure number); positive for a tail to the right", {-4, 4}},
       {"c", "background (units of y)", {-2, 2}}},
      kTrialX, skew_gaussian, {.most = kSharp});
  add(models, "emg",
      "a/(2*tau)*if((x-mu)/sigma>sigma/tau,exp(sigma^2/(2*tau^2)-(x-mu)/tau)*erfc((sigma/"
      "tau-(x-mu)/sigma)/sqrt(2)),"
      "exp(-(x-mu)^2/(2*sigma^2))*erfcx((sigma/tau-(x-mu)/sigma)/sqrt(2)))+c",
      "exponentially modified Gaussian (chromatography), by its area, on a constant background",
      {{"a", "area under the peak (y times x)", {1, 10}},
       {"tau", "length of the exponential tail (units of x)", {0.4, 2}},
       {"mu", "centre of the Gaussian (units of x)", {2, 5}},
       {"sigma", "standard deviation of the Gaussian (units of x)", {0.3, 1}},
       {"c", "background (units of y)", {-1, 1}}},
      kTrialX, modified_gaussian);
  add(models, "fano", "h*(q*g/2+x-x0)^2/((g/2)^2+(x-x0)^2)+c", "Fano resonance",
      {{"h", "height of the smooth background that interferes (units of y)", {1, 5}},
       {"q", "asymmetry (pure number)", {-3, 3}},
       {"g", "full width (units of x)", {0.6, 2}},
       {"x0", "resonance (units of x)", {3, 7}},
       {"c", "background that does not interfere (units of y)", {-1, 1}}},
      kTrialX, fano, {.most = kSharp});
}

}  // namespace nlsq::inline v0::guessing
