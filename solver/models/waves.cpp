// Built-in sine and damped sine. The guess takes frequencies from the spectrum; amplitude and phase are the
// linear coefficients of a sine and a cosine.
#include "models/guesses/separable.hpp"
#include "models/guesses/spectrum.hpp"
#include "models/model_families.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace nlsq::inline v0::guessing {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

double wrapped(double phase) { return std::remainder(phase, kTurn); }

// y ~ c0 cos + c1 sin + c2; q = frequency in cycles per unit u, with phases from the middle.
Separable sine_problem(std::span<const double> u, const Sample& sample) {
  Separable problem(sample, u, 3, {0.02}, {2.0 * static_cast<double>(u.size())});
  problem.basis = [](std::span<const double> at, std::span<const double> q, double* columns) {
    const std::size_t n = at.size();
    for (std::size_t i = 0; i < n; ++i) {
      const double angle = kTurn * q[0] * (at[i] - 0.5);
      columns[i] = std::cos(angle);
      columns[n + i] = std::sin(angle);
      columns[2 * n + i] = 1;
    }
  };
  return problem;
}

// Frequencies (cycles per x) that are too high for the sample of long data. They are found in a window short
// enough to resolve them and refined in windows that are eight times longer each.
std::vector<double> followed_frequencies(const Sample& sample) {
  std::vector<double> followed;
  if (sample.source == nullptr) return followed;
  const double rows = static_cast<double>(sample.source->rows());
  for (double part = static_cast<double>(sample.source->most()) / rows; part < 0.3; part *= 8) {
    const Sample window = sample.source->pick(sample.x_min, sample.x_min + part * sample.span);
    if (window.rows() < 16) continue;
    const std::vector<double> u = window.unit_x();
    const Separable problem = sine_problem(u, window);
    std::vector<Solution> found;
    for (const double f : followed) found.push_back(improve(problem, solve(problem, {f * window.span})));
    for (const double f : spectrum_peaks(u, window.y, window.weight, 3))
      found.push_back(improve(problem, solve(problem, {f})));
    std::ranges::sort(found, {}, &Solution::rss);
    followed.clear();
    for (std::size_t k = 0; k < std::min<std::size_t>(3, found.size()); ++k)
      followed.push_back(found[k].q[0] / window.span);
  }
  return followed;
}

// Frequencies in cycles per unit u. Slow waves with less than two cycles in the data have no peak in the
// spectrum, so they are added.
std::vector<double> candidate_frequencies(const Sample& sample, std::span<const double> u) {
  std::vector<double> frequencies = spectrum_peaks(u, sample.y, sample.weight, 6);
  for (const double slow : {0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 1.0, 1.25, 1.5, 1.8}) frequencies.push_back(slow);
  for (const double f : followed_frequencies(sample)) frequencies.push_back(f * sample.span);
  return frequencies;
}

double highest_frequency(const Sample& sample, std::span<const double> u) {
  const double even = 2.0 * static_cast<double>(sample.source ? sample.source->rows() : sample.rows());
  return std::max(even, 1.1 * highest_cycles(u));
}

struct Wave {
  double amplitude, phase;  // of sin(2 pi f x + phase), x in the user's units
};

// Converts c0 cos + c1 sin of 2 pi f (x - middle).
Wave wave(double c0, double c1, double f, double middle) {
  return {std::hypot(c0, c1), wrapped(std::atan2(c0, c1) - kTurn * std::remainder(f * middle, 1.0))};
}

std::vector<double> sine(const Sample& sample) {
  const std::vector<double> u = sample.unit_x();
  Separable problem = sine_problem(u, sample);
  problem.upper = {highest_frequency(sample, u)};
  std::vector<std::vector<double>> starts;
  for (const double f : candidate_frequencies(sample, u)) starts.push_back({f});
  const Solution best = search(problem, starts, {.keep = 4});
  const double f = best.q[0] / sample.span;
  const Wave w = wave(best.c[0], best.c[1], f, sample.x_min + sample.span / 2);
  return {w.amplitude, f, w.phase, best.c[2]};
}

std::vector<double> damped_sine(const Sample& sample) {
  const std::vector<double> u = sample.unit_x();
  Separable problem(sample, u, 3, {0.02, -50}, {highest_frequency(sample, u), 500});
  problem.basis = [](std::span<const double> at, std::span<const double> q, double* columns) {
    const std::size_t n = at.size();
    const double origin = q[1] >= 0 ? 0.0 : 1.0;  // where the envelope is 1
    for (std::size_t i = 0; i < n; ++i) {
      const double angle = kTurn * q[0] * at[i], envelope = std::exp(-q[1] * (at[i] - origin));
      columns[i] = envelope * std::cos(angle);
      columns[n + i] = envelope * std::sin(angle);
      columns[2 * n + i] = 1;
    }
  };
  std::vector<std::vector<double>> starts;
  for (const double f : candidate_frequencies(sample, u))
    for (const double rate : {0.0, 1.5, 4.0, 10.0, 30.0}) starts.push_back({f, rate});
  const Solution best = search(problem, starts, {.keep = 6});
  const double f = best.q[0] / sample.span, b = best.q[1] / sample.span;
  const Wave w = wave(best.c[0], best.c[1], f, sample.x_min);
  const double origin = sample.x_min + (best.q[1] >= 0 ? 0.0 : sample.span);
  return {w.amplitude * std::exp(b * origin), b, f, w.phase, best.c[2]};
}

}  // namespace

void add_waves(std::vector<Model>& models) {
  add(models, "sine", "a*sin(2*pi*f*x+phi)+c", "sine wave about a constant",
      {{"a", "amplitude (units of y)", {1, 5}},
       {"f", "frequency (cycles per unit of x)", {0.12, 1.2}},
       {"phi", "phase at x = 0 (radians)", {-3, 3}},
       {"c", "mean level (units of y)", {-3, 3}}},
      {0, 10}, sine, {.most = kSharp});
  add(models, "damped_sine", "a*exp(-b*x)*sin(2*pi*f*x+phi)+c", "damped sine wave about a constant",
      {{"a", "amplitude at x = 0 (units of y)", {1, 5}},
       {"b", "damping rate (1/x)", {0.05, 0.5, true}},
       {"f", "frequency (cycles per unit of x)", {0.2, 1.2}},
       {"phi", "phase at x = 0 (radians)", {-3, 3}},
       {"c", "final level (units of y)", {-3, 3}}},
      {0, 10}, damped_sine, {.most = kSharp});
}

}  // namespace nlsq::inline v0::guessing
