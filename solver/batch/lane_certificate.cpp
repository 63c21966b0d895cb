// The lane certificate by Cholesky of the scaled normal equations.
#include "batch/lane_certificate.hpp"

#include "linear/small_dense.hpp"

#include "program/local_buffer.hpp"
#include "support/constants.hpp"

#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr double kSquareable = 0x1p-960;  // sums of squares below it may have lost digits

}  // namespace

bool certify_plain(const Linearization& at, std::span<const double> x, std::size_t rows,
                   const CertificateTests& tests, LaneCertificate& out) {
  const std::size_t n = x.size();
  const double sigma = scatter(at.cost, rows, n, tests.unit_sigma);
  // A cost of rounding size needs the other tests of certify().
  if (n > small_dense::kMost || !(2 * at.cost > kSquareable) ||
      !(at.cost > kUnitRoundoff * tests.initial_cost) || !(sigma > 0))
    return false;
  out.variances.resize(n);
  double step = 0, size = 0;
  const bool factored = small_dense::with_constant(n, [&](auto count) {
    constexpr std::size_t kMost = small_dense::most_of<decltype(count)>;
    double scale[kMost], L[kMost * kMost], W[kMost * kMost], pivots[kMost], v[kMost];
    for (std::size_t j = 0; j < count; ++j) {
      if (!(at.normal(j, j) > kSquareable)) return false;
      scale[j] = 1 / std::sqrt(at.normal(j, j));
    }
    for (std::size_t j = 0; j < count; ++j) {
      v[j] = at.gradient[j] * scale[j];
      for (std::size_t i = 0; i < count; ++i) L[j * count + i] = at.normal(i, j) * scale[i] * scale[j];
    }
    const double norm = small_dense::one_norm(L, count);
    if (!small_dense::cholesky(L, count, pivots)) return false;
    out.condition = norm * small_dense::inverse_one_norm(L, count, pivots, W);
    small_dense::solve_lower(L, count, pivots, v);
    out.decrement_sigma = small_dense::norm(v, n) / sigma;
    small_dense::solve_lower_transposed(L, count, pivots, v);
    for (std::size_t j = 0; j < count; ++j) {
      step += v[j] * v[j];
      size += x[j] * x[j] / (scale[j] * scale[j]);
      double squares = 0;
      for (std::size_t k = j; k < count; ++k) squares += W[j * count + k] * W[j * count + k];
      out.variances[j] = squares * scale[j] * scale[j];
    }
    return true;
  });
  // The limit up to which certify() uses normal equations.
  if (!factored || !(static_cast<double>(n) * kUnitRoundoff * out.condition < 1e-10)) return false;
  // Beside a large offset rounding may hide the distance (grid_decrement). Then certify() measures it.
  if (kUnitRoundoff * std::sqrt(size) > kNearInNoise * sigma) return false;
  out.step = step == 0 ? 0 : std::sqrt(step / size);
  const bool near = out.decrement_sigma <= tests.tau;
  return (near || is_flat(gradient_cosine(at), tests.gtol, out.decrement_sigma)) && out.step <= tests.xtol;
}

}  // namespace nlsq::inline v0
