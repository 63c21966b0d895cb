// Implements spectrum_peaks() with a fast Fourier transform.
#include "models/guesses/spectrum.hpp"

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

std::size_t power_of_two(std::size_t at_least) {
  std::size_t n = 1;
  while (n < at_least) n *= 2;
  return n;
}

}  // namespace

std::vector<double> spectrum_peaks(std::span<const double> u, std::span<const double> y, std::size_t most) {
  const std::size_t n = u.size();
  const std::size_t cells = power_of_two(8 * n);  // a cell is at most 1/16 of the shortest period
  constexpr std::size_t oversampling = 4;
  double mean = 0;
  for (const double value : y) mean += value / static_cast<double>(n);
  std::vector<Complex> a(cells * oversampling);
  for (std::size_t i = 0; i < n; ++i)
    a[static_cast<std::size_t>(std::lround(u[i] * static_cast<double>(cells)))] += y[i] - mean;
  transform(a);
  const std::size_t last = oversampling * n / 2;
  std::vector<std::pair<double, double>> peaks;  // power, frequency
  for (std::size_t k = 1; k <= last; ++k) {
    const double power = std::norm(a[k]);
    if (power >= std::norm(a[k - 1]) && (k == last || power >= std::norm(a[k + 1])))
      peaks.emplace_back(power, static_cast<double>(k) / oversampling);
  }
  std::sort(peaks.begin(), peaks.end(), [](const auto& p, const auto& q) { return p.first > q.first; });
  std::vector<double> frequencies;
  for (std::size_t k = 0; k < std::min(most, peaks.size()); ++k) frequencies.push_back(peaks[k].second);
  return frequencies;
}

}  // namespace nlsq::inline v0::guessing
