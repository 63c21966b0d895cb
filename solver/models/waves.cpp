// Defines the built-in sine and damped sine. The guess takes frequencies from the spectrum of data at even or
// uneven abscissae; amplitude and phase are the linear coefficients of a sine and a cosine.
#include "models/guesses/separable.hpp"
#include "models/guesses/wide_vectors.hpp"
#include "models/model_families.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <numbers>
#include <span>
#include <vector>

namespace nlsq::inline v0::guessing {
namespace {

using Complex = std::complex<double>;

// Computes the Fourier transform in place. The length is a power of two (Cooley and Tukey, Math. Comp. 19
// (1965) 297).
void transform(std::vector<Complex>& a) {
  const std::size_t n = a.size();
  for (std::size_t i = 1, j = 0; i < n; ++i) {  // bit-reversed order
    std::size_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(a[i], a[j]);
  }
  std::vector<Complex> root(n / 2);
  for (std::size_t k = 0; k < n / 2; ++k)
    root[k] = std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
  for (std::size_t half = 1; half < n; half *= 2)
    for (std::size_t block = 0; block < n; block += 2 * half)
      for (std::size_t k = 0; k < half; ++k) {
        const Complex w = root[k * (n / (2 * half))], b = a[block + half + k];
        const Complex t = {w.real() * b.real() - w.imag() * b.imag(),
                           w.real() * b.imag() + w.imag() * b.real()};
        a[block + half + k] = a[block + k] - t;
        a[block + k] += t;
      }
}

constexpr std::size_t kOversampling = 4;
constexpr std::size_t kFewRows = 200;  // up to here plain sums are faster than the transform

// Computes the spectrum at the frequencies k/4. For each row, a phasor is turned from one frequency to the
// next.
std::vector<double> spectrum_by_sums(std::span<const double> u, std::span<const double> y,
                                     std::size_t places) {
  const std::size_t n = u.size();
  std::vector<double> turn_cos(n), turn_sin(n), re(y.begin(), y.end()), im(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    const double angle = 2 * std::numbers::pi * u[i] / kOversampling;
    turn_cos[i] = std::cos(angle);
    turn_sin[i] = std::sin(angle);
  }
  std::vector<double> power;
  for (std::size_t k = 0; k < places; ++k) {
    double sum_re = 0, sum_im = 0;
    for (std::size_t i = 0; i < n; ++i) sum_re += re[i], sum_im += im[i];
    power.push_back(sum_re * sum_re + sum_im * sum_im);
    for (std::size_t i = 0; i < n; ++i) {
      const double turned = re[i] * turn_cos[i] - im[i] * turn_sin[i];
      im[i] = re[i] * turn_sin[i] + im[i] * turn_cos[i];
      re[i] = turned;
    }
  }
  return power;
}

// Computes the same spectrum by a fast Fourier transform, after the rows were put on a fine grid.
std::vector<double> spectrum_by_transform(std::span<const double> u, std::span<const double> y,
                                          std::size_t places) {
  const std::size_t n = u.size();
  const std::size_t cells =
      std::bit_ceil(16 * (places - 1) / kOversampling);  // at most 1/16 of the shortest period
  std::vector<Complex> a(cells * kOversampling);
  for (std::size_t i = 0; i < n; ++i)
    a[static_cast<std::size_t>(std::lround(u[i] * static_cast<double>(cells)))] += y[i];
  transform(a);
  std::vector<double> power;
  for (std::size_t k = 0; k < places; ++k) power.push_back(std::norm(a[k]));
  return power;
}

// Returns the highest frequency, in cycles per unit of x, that the rows can show. For even rows it is one
// cycle in two rows. Uneven rows show faster waves, too: up to half a cycle in a short gap, which is the 10 %
// quantile of all gaps, but at most eight times as many cycles. u is sorted in [0, 1].
double highest_cycles(std::span<const double> u) {
  constexpr std::size_t kLeastRows = 8;
  constexpr double kUneven = 2, kMost = 8;  // of the mean gap over the small one
  const double even = 0.5 * static_cast<double>(u.size());
  std::vector<double> gaps;
  for (std::size_t i = 1; i < u.size(); ++i) {
    if (u[i] > u[i - 1]) gaps.push_back(u[i] - u[i - 1]);
  }
  if (gaps.size() < kLeastRows) return even;
  const double ratio = 1 / (static_cast<double>(gaps.size()) * ranked(gaps, gaps.size() / 10));
  return ratio < kUneven ? even : even * std::min(ratio, kMost);
}

// Returns the frequencies of the highest peaks in the spectrum of y minus its mean, highest first, up to
// highest_cycles. Few rows are summed directly. Many are put
// on a fine grid before a fast Fourier transform with four-fold oversampling (compare Press and Rybicki,
// Astrophys. J. 338 (1989) 277). `weight` has the weight of each residual. If it is empty, all weights are 1.
std::vector<double> spectrum_peaks(std::span<const double> u, std::span<const double> y,
                                   std::span<const double> weight, std::size_t most) {
  const std::size_t n = u.size();
  const auto square = [&](std::size_t i) { return squared_weight(weight, i); };
  double mean = 0, total = 0;
  for (std::size_t i = 0; i < n; ++i) total += square(i);
  for (std::size_t i = 0; i < n; ++i) mean += square(i) * y[i] / total;
  std::vector<double> centred(y.begin(), y.end());
  for (std::size_t i = 0; i < n; ++i) centred[i] = square(i) * (y[i] - mean);
  const auto places = static_cast<std::size_t>(kOversampling * highest_cycles(u)) + 1;
  const std::vector<double> power =
      n <= kFewRows ? spectrum_by_sums(u, centred, places) : spectrum_by_transform(u, centred, places);
  std::vector<std::pair<double, double>> peaks;  // power, frequency
  for (std::size_t k = 1; k < power.size(); ++k)
    if (power[k] >= power[k - 1] && (k + 1 == power.size() || power[k] >= power[k + 1]))
      peaks.emplace_back(power[k], static_cast<double>(k) / kOversampling);
  std::sort(peaks.begin(), peaks.end(), [](const auto& p, const auto& q) { return p.first > q.first; });
  std::vector<double> frequencies;
  for (std::size_t k = 0; k < std::min(most, peaks.size()); ++k) frequencies.push_back(peaks[k].second);
  return frequencies;
}

constexpr double kTurn = 2 * std::numbers::pi;

double wrapped(double phase) { return std::remainder(phase, kTurn); }

// Returns the problem y ~ c0 cos + c1 sin + c2, where q is the frequency in cycles per unit u, and phases are
// measured from the middle.
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

// Returns frequencies (cycles per x) that are too high for the sample of long data. They are found in a
// window short enough to resolve them and refined in windows that are eight times longer each.
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

// Returns frequencies to try, in cycles per unit u. Slow waves with less than two cycles in the data have no
// peak in the spectrum, so they are added.
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

// Converts c0 cos + c1 sin of 2 pi f (x - middle) to amplitude and phase.
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
