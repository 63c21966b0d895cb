// Defines built-in sigmoid steps in x, and in log x (dose-response curves).
#include "models/guesses/separable.hpp"
#include "models/model_families.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace nlsq::inline v0::guessing {
namespace {

constexpr double kLogSteepLow = -1.2, kLogSteepHigh = 9.2;  // steepness k times the range of x: 0.3 ... 10^4

struct StepFit {
  double centre = 0, steepness = 1;  // in units of x; steepness is negative only if `signs` allows it
  std::vector<double> extra, c;
};

// Fits a step. Its shape is shape(z, extra), which replaces z = k (x - centre), and a constant is added if
// `offset`. `signs` are the signs of k to try.
using StepShape = void (*)(std::span<double> z, std::span<const double> extra);
StepFit fit_step(const Sample& sample, StepShape shape, bool offset, std::span<const double> signs,
                 const std::vector<double>& extra_start = {}, double extra_low = 0, double extra_high = 0) {
  // If y is constant, every step far from the data fits, and its parameters may overflow. So a step in the
  // middle is taken.
  if (sample.flat()) {
    constexpr double kSteepness = 5;  // in units of 1 / span of x
    StepFit amid{
        sample.x_min + 0.5 * sample.span, signs[0] * kSteepness / sample.span, extra_start, {sample.y_mean}};
    if (offset) amid.c.push_back(0);
    return amid;
  }
  const std::vector<double> u = sample.unit_x();
  std::vector<std::vector<double>> starts;
  for (const double centre : grid(-0.1, 1.1, 13))
    for (const double steepness : {2.0, 5.0, 12.0, 30.0, 100.0, 500.0}) {
      starts.push_back({centre, std::log(steepness)});
      starts.back().insert(starts.back().end(), extra_start.begin(), extra_start.end());
    }
  StepFit fit;
  double lowest = std::numeric_limits<double>::infinity();
  for (const double sign : signs) {
    Separable problem(sample, u, offset ? 2 : 1, {-2, kLogSteepLow}, {3, kLogSteepHigh}, kThinned);
    problem.lower.insert(problem.lower.end(), extra_start.size(), extra_low);
    problem.upper.insert(problem.upper.end(), extra_start.size(), extra_high);
    problem.basis = [&](std::span<const double> at, std::span<const double> q, double* columns) {
      const double k = sign * std::exp(q[1]);
      const std::size_t n = at.size();
      for (std::size_t i = 0; i < n; ++i) columns[i] = k * (at[i] - q[0]);
      shape({columns, n}, q.subspan(2));
      if (offset) std::fill(columns + n, columns + 2 * n, 1.0);
    };
    const Solution best = search(problem, starts);
    if (fit.c.empty() || best.rss < lowest) {
      lowest = best.rss;
      fit = {sample.x_min + best.q[0] * sample.span,
             sign * std::exp(best.q[1]) / sample.span,
             {best.q.begin() + 2, best.q.end()},
             best.c};
    }
  }
  return fit;
}

constexpr double kUp[] = {1.0}, kBoth[] = {1.0, -1.0};

void negate(std::span<double> z) {
  for (double& value : z) value = -value;
}

void logistic_shape(std::span<double> z, std::span<const double>) {
  negate(z);
  exp_in_place(z);
  for (double& value : z) value = 1 / (1 + value);
}

void erf_shape(std::span<double> z, std::span<const double>) {
  for (double& value : z) value = 0.5 * std::erfc(-value / std::numbers::sqrt2);
}

void gompertz_shape(std::span<double> z, std::span<const double>) {
  negate(z);
  exp_in_place(z);
  negate(z);
  exp_in_place(z);
}

// Replaces each z by (1 + exp(-z))^(-1/nu).
void richards_shape(std::span<double> z, std::span<const double> log_nu) {
  const double power = std::exp(-log_nu[0]);
  for (double& value : z) value = -power * (value < -30 ? -value : std::log1p(std::exp(-value)));
  exp_in_place(z);
}

// Fits a logistic curve. One curve has two forms, L s(k) + c = -L s(-k) + (c + L). Returns the form with L >
// 0.
std::vector<double> logistic(const Sample& sample) {
  const StepFit fit = fit_step(sample, logistic_shape, true, kUp);
  const double L = fit.c[0], c = fit.c[1];
  return L >= 0 ? std::vector{L, fit.steepness, fit.centre, c}
                : std::vector{-L, -fit.steepness, fit.centre, c + L};
}

std::vector<double> richards(const Sample& sample) {
  const StepFit fit = fit_step(sample, richards_shape, false, kUp, {0.0}, std::log(0.05), std::log(20.0));
  return {fit.c[0], std::exp(fit.steepness * fit.centre), fit.steepness, std::exp(fit.extra[0])};
}

// Returns {bottom, top, n, K}, or with `fifth` {bottom, top, K, n, s}. Hill curves contain x^n/(K^n+x^n) =
// 1/(1+(K/x)^n), a logistic in log x, which is 0 at x = 0.
std::vector<double> hill(const Sample& sample, bool fifth) {
  const std::size_t n = sample.rows();
  const std::vector<double> t = logarithms(sample.x);  // -inf at x = 0
  const auto positive = std::upper_bound(sample.x.begin(), sample.x.end(), 0.0) - sample.x.begin();
  const double last = std::isfinite(t.back()) ? t.back() : 0.0;
  const double first =
      positive < static_cast<std::ptrdiff_t>(n) ? t[static_cast<std::size_t>(positive)] : last - 1;
  Separable problem(sample, t, 2, {first - 5, std::log(0.05)}, {last + 5, std::log(50.0)}, kThinned);
  if (fifth) problem.lower.push_back(std::log(0.05)), problem.upper.push_back(std::log(20.0));
  problem.basis = [fifth](std::span<const double> at, std::span<const double> q, double* columns) {
    const double slope = std::exp(q[1]), power = fifth ? std::exp(q[2]) : 1.0;
    const std::size_t rows = at.size();
    for (std::size_t i = 0; i < rows; ++i) columns[i] = slope * (at[i] - q[0]);
    logistic_shape({columns, rows}, {});
    for (std::size_t i = 0; i < rows; ++i) {
      if (fifth) columns[i] = std::pow(columns[i], power);
      columns[rows + i] = 1 - columns[i];
    }
  };
  std::vector<std::vector<double>> starts;
  for (const double log_K : grid(first, last, 11))
    for (const double slope : {0.7, 1.8, 5.0, 15.0}) {
      starts.push_back({log_K, std::log(slope)});
      if (fifth) starts.back().push_back(0.0);
    }
  const Solution best = search(problem, starts);
  const double K = std::exp(best.q[0]), slope = std::exp(best.q[1]);
  if (fifth) return {best.c[1], best.c[0], K, slope, std::exp(best.q[2])};
  return {best.c[1], best.c[0], slope, K};
}

}  // namespace

void add_steps(std::vector<Model>& models) {
  add(models, "logistic", "L/(1+exp(-k*(x-x0)))+c", "logistic step",
      {{"L", "height of the step (units of y)", {1, 10}},
       {"k", "steepness (1/x); negative for a step down", {0.8, 6, true}},
       {"x0", "midpoint (units of x)", {3, 7}},
       {"c", "level on the low side (units of y)", {-2, 2}}},
      {0, 10}, logistic);
  add(models, "logistic4", "bottom+(top-bottom)*x^n/(K^n+x^n)",
      "four-parameter logistic (Hill) dose-response curve, x >= 0",
      {{"bottom", "response at x = 0 (units of y)", {0, 2}},
       {"top", "response at large x (units of y)", {5, 10}},
       {"n", "Hill slope (pure number)", {0.8, 4}},
       {"K", "x of half response (units of x)", {1, 8, true}}},
      {0.05, 20}, [](const Sample& sample) { return hill(sample, false); },
      {.domain = Domain::non_negative, .aliases = {"hill"}});
  add(models, "logistic5",
      // The form x^(n*s)/(K^n+x^n)^s is not used, because its powers overflow for x in the thousands. At x =
      // 0 K/x is infinite, and the derivatives of the power would be undefined.
      "bottom+(top-bottom)*if(x>0,(1+(K/x)^n)^(-s),0)",
      "five-parameter (asymmetric) logistic dose-response curve, x >= 0",
      {{"bottom", "response at x = 0 (units of y)", {0, 2}},
       {"top", "response at large x (units of y)", {5, 10}},
       {"K", "location (units of x); the x of half response where s = 1", {2, 8}},
       {"n", "slope (pure number)", {1.5, 4}},
       {"s", "asymmetry (pure number)", {0.5, 2}}},
      {0.05, 20}, [](const Sample& sample) { return hill(sample, true); }, {.domain = Domain::non_negative});
  add(models, "gompertz", "a*exp(-b*exp(-c*x))", "Gompertz growth",
      {{"a", "final level (units of y)", {1, 10}},
       {"b", "displacement (pure number): log of final level over value at x = 0", {3, 30, true}},
       {"c", "rate (1/x)", {0.4, 1.5}}},
      {0, 10}, [](const Sample& sample) {
        const StepFit fit = fit_step(sample, gompertz_shape, false, kBoth);
        return std::vector{fit.c[0], std::exp(fit.steepness * fit.centre), fit.steepness};
      });
  add(models, "richards", "a/(1+q*exp(-k*x))^(1/nu)", "Richards growth (generalised logistic)",
      {{"a", "final level (units of y)", {1, 10}},
       {"q", "displacement (pure number)", {5, 50, true}},
       {"k", "rate (1/x)", {0.7, 2}},
       {"nu", "asymmetry (pure number); 1 is the logistic", {0.5, 2}}},
      {0, 10}, richards);
  add(models, "erf_step", "a/2*(1+erf((x-x0)/(sqrt(2)*sigma)))+c", "step smeared by a Gaussian",
      {{"a", "height of the step (units of y); negative for a step down", {1, 10}},
       {"x0", "midpoint (units of x)", {3, 7}},
       {"sigma", "standard deviation of the smearing (units of x)", {0.3, 2}},
       {"c", "level left of the step (units of y)", {-2, 2}}},
      {0, 10}, [](const Sample& sample) {
        const StepFit fit = fit_step(sample, erf_shape, true, kUp);
        return std::vector{fit.c[0], fit.centre, 1 / fit.steepness, fit.c[1]};
      });
  add(models, "fermi", "a/(1+exp((x-mu)/T))+c", "Fermi-Dirac occupation",
      {{"a", "height (units of y)", {1, 10}},
       {"mu", "chemical potential (units of x)", {3, 7}},
       {"T", "temperature (units of x)", {0.2, 1.2}},
       {"c", "background (units of y)", {-2, 2}}},
      {0, 10}, [](const Sample& sample) {  // a step down of height a is a step up of height -a, on c + a
        const StepFit fit = fit_step(sample, logistic_shape, true, kUp);
        return std::vector{-fit.c[0], fit.centre, 1 / fit.steepness, fit.c[1] + fit.c[0]};
      });
}

}  // namespace nlsq::inline v0::guessing
