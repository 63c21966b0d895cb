// Implements spectrum_peaks() with a fast Fourier transform.
#include "models/guesses/spectrum.hpp"

#include "models/guesses/separable.hpp"
#include "models/guesses/wide_vectors.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

namespace nlsq::inline v0::guessing {
namespace {

using Complex = std::complex<double>;

// Transforms in place. The length is a power of two (Cooley and Tukey, Math. Comp. 19 (1965) 297).
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

// The spectrum at the frequencies k/4, by turning a phasor for each row.
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

std::size_t power_of_two(std::size_t at_least) {
  std::size_t n = 1;
  while (n < at_least) n *= 2;
  return n;
}

// The same by a fast Fourier transform of the rows on a fine grid.
std::vector<double> spectrum_by_transform(std::span<const double> u, std::span<const double> y,
                                          std::size_t places) {
  const std::size_t n = u.size();
  const std::size_t cells =
      power_of_two(16 * (places - 1) / kOversampling);  // at most 1/16 of the shortest period
  std::vector<Complex> a(cells * kOversampling);
  for (std::size_t i = 0; i < n; ++i)
    a[static_cast<std::size_t>(std::lround(u[i] * static_cast<double>(cells)))] += y[i];
  transform(a);
  std::vector<double> power;
  for (std::size_t k = 0; k < places; ++k) power.push_back(std::norm(a[k]));
  return power;
}

}  // namespace

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

}  // namespace nlsq::inline v0::guessing
