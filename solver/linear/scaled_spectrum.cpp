// Scales a matrix of second derivatives and takes its eigenvalues.
#include "linear/scaled_spectrum.hpp"

#include "dense/dense_algebra.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

bool scaled_spectrum(std::span<const double> G, std::span<const double> norms, ScaledSpectrum& out) {
  const std::size_t n = norms.size();
  out.scale.assign(n, 1.0);
  out.values.assign(n, 0.0);
  out.vectors.assign(n * n, 0.0);
  for (std::size_t j = 0; j < n; ++j) {
    const double diagonal = std::max(std::fabs(G[j * n + j]), 1e-30 * norms[j] * norms[j]);
    // Where the diagonal says nothing of an unknown's size, as at the origin of a*b, its largest product with
    // another does.
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, std::fabs(G[j * n + i]));
    constexpr double kNothing = 1e-12;
    out.scale[j] = std::sqrt(diagonal > kNothing * largest ? diagonal : largest > 0 ? largest : 1);
  }
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < n; ++i) {
      const double mean = 0.5 * (G[j * n + i] + G[i * n + j]);
      out.vectors[j * n + i] = mean / (out.scale[i] * out.scale[j]);
      if (!std::isfinite(out.vectors[j * n + i])) return false;
    }
  }
  return dense::symmetric_eigen(out.vectors.data(), n, out.values.data());
}

}  // namespace nlsq::inline v0
