// Computes the ratio of the two curvatures of loss_curvature.hpp, averaged over sampled rows.
#include "dense/loss_curvature.hpp"

#include "certificate/certificate.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kCurvatureRows = 4096;
constexpr double kNear = 3;     // about this many standard errors
constexpr double kLeast = 0.2;  // no step becomes more than five times longer

// Computes r² from a transformed residual r̃, where r̃² = ρ(r²).
double squared_residual(double finished, const Loss& loss) {
  const double C2 = loss.scale() * loss.scale(), rho = finished * finished / C2;
  switch (loss.kind()) {
    case Loss::Kind::soft_l1: return C2 * rho * (1 + rho / 4);
    case Loss::Kind::huber: return C2 * (rho <= 1 ? rho : (rho + 1) * (rho + 1) / 4);
    case Loss::Kind::cauchy: return C2 * std::expm1(rho);
    case Loss::Kind::arctan: return C2 * (rho < 1.57 ? std::tan(rho) : 1e3);
    case Loss::Kind::tukey: return C2 * (3 * rho < 1 ? 1 - std::cbrt(1 - 3 * rho) : 2);
    case Loss::Kind::linear:
    case Loss::Kind::poisson:
    case Loss::Kind::own: break;
  }
  return C2 * rho;
}

}  // namespace

CurvatureWeights curvature_weights(double finished, const Loss& loss) {
  const double s = squared_residual(finished, loss);
  const auto [rho, slope] = loss(s);
  if (!(rho > 0) || !std::isfinite(s)) return {s > 0 ? 0.0 : 1.0, s > 0 ? 0.0 : 1.0};
  return {slope * slope * s / rho, slope + 2 * s * loss.curvature(s)};
}

void correct_curvature(const RowModel& rows, std::span<const double> x, Linearization& at) {
  const Loss* loss = rows.robust_loss();
  if (loss == nullptr || !at.finite) return;
  if (gradient_cosine(at) * std::sqrt(static_cast<double>(rows.rows())) > kNear) return;
  const auto pass = rows.begin(x, Fill::residual, false);
  KernelCounters not_of_the_fit;
  double taken = 0, exact = 0;
  const std::size_t tiles = rows.tile_count(), share = std::max<std::size_t>(1, rows.rows() / kCurvatureRows);
  for (std::size_t t = share / 2; t < tiles; t += share) {
    const TileRange tile = rows.tile(t);
    const double* r = pass->fill_f64(tile.first, tile.count, not_of_the_fit)[rows.parameters()];
    for (std::size_t i = 0; i < tile.count; ++i) {
      const CurvatureWeights w = curvature_weights(r[i], *loss);
      taken += w.taken;
      exact += w.exact;
    }
  }
  if (!(taken > 0)) return;
  const double c = std::clamp(exact / taken, kLeast, 1.0), root = std::sqrt(c);
  const std::size_t n = at.gradient.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) at.normal(i, j) *= c;
  }
  if (at.triangle.empty()) return;
  for (std::size_t i = 0; i < n; ++i) {  // from here on, it holds R of √c J̃, and Qᵀr̃/√c
    for (std::size_t j = i; j < n; ++j) at.triangle(i, j) *= root;
    at.triangle(i, n) /= root;
  }
}

}  // namespace nlsq::inline v0
