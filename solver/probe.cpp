// The probe: the same rows in f32 and in f64. It sees data rounding, the math library, parameter
// rounding, everything, because it assumes nothing.
#include "dense_evaluator.hpp"
#include "row_groups.hpp"

#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kGroup = 64;     // neighbouring rows evaluated together
constexpr std::size_t kGroups = 64;    // spread evenly over the rows: 4,096 rows at most

// Per-row differences q = (cost, gradient) of one group: their sum, and sums of squares.
struct Discrepancy {
  explicit Discrepancy(std::size_t n) : sum(n + 1), gradient_squares(n, n) {}
  Vector sum;               // Σ q, cost last
  double cost_square = 0;   // Σ q_F²
  Matrix gradient_squares;  // Σ q_g q_gᵀ
};

void add_row(Discrepancy& d, const float* const* low, const double* const* high, std::size_t n, std::size_t i,
             Vector& q) {
  const double r = high[n][i], r_low = low[n][i];
  for (std::size_t j = 0; j < n; ++j) q[j] = static_cast<double>(low[j][i]) * r_low - high[j][i] * r;
  q[n] = 0.5 * (r_low - r) * (r_low + r);
  for (std::size_t j = 0; j <= n; ++j) d.sum[j] += q[j];
  d.cost_square += q[n] * q[n];
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < n; ++k) d.gradient_squares(j, k) += q[j] * q[k];
  }
}

}  // namespace

Probe DenseEvaluator::probe(std::span<const double> x) {
  const auto n = static_cast<std::size_t>(parameters());
  const std::size_t m = model_.rows();
  const std::vector<TileRange> groups = row_groups(model_, kGroup * kGroups, kGroup);
  const auto low_pass = model_.begin(x, Fill::jacobian_and_residual, true);
  const auto high_pass = model_.begin(x, Fill::jacobian_and_residual, false);

  Probe out;
  out.column_squares.assign(n, 0.0);
  Vector q(n + 1), mean(n + 1, 0.0);
  std::vector<Discrepancy> found;
  std::vector<double> counts;
  for (const auto& [first, count] : groups) {
    const float* const* low = low_pass->fill_f32(first, count, counters_);
    const double* const* high = high_pass->fill_f64(first, count, counters_);
    Discrepancy d(n);
    for (std::size_t i = 0; i < count; ++i) add_row(d, low, high, n, i, q);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < count; ++i) out.column_squares[j] += high[j][i] * high[j][i];
    }
    for (std::size_t j = 0; j <= n; ++j) {
      mean[j] += d.sum[j];
      out.finite = out.finite && std::isfinite(d.sum[j]);
    }
    out.rows += count;
    counts.push_back(static_cast<double>(count));
    found.push_back(std::move(d));
  }
  work_ += static_cast<double>(out.rows) * row_cost() * 1.5;

  const double S = static_cast<double>(out.rows), M = static_cast<double>(m);
  for (double& v : mean) v /= S;
  // With every row sampled there is nothing left to extrapolate: the bias is exact, the rest is 0.
  const double unseen = out.rows >= m ? 0.0 : 1.0;
  const double G = static_cast<double>(groups.size());
  double cost_group = 0, cost_row = 0;
  out.gradient_scatter = Matrix(n, n);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const double dF = found[g].sum[n] - counts[g] * mean[n];
    cost_group += dF * dF;
    cost_row += found[g].cost_square;
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 0; k < n; ++k) {
        const double between = (found[g].sum[j] - counts[g] * mean[j]) * (found[g].sum[k] - counts[g] * mean[k]);
        // Variance of m*mean from the scatter of G group sums, plus m times a row's own variance.
        out.gradient_scatter(j, k) +=
            unseen * (between * (M / S) * (M / S) * G / std::max(1.0, G - 1) + found[g].gradient_squares(j, k) * M / S);
      }
    }
  }
  out.gradient_bias.resize(n);
  for (std::size_t j = 0; j < n; ++j) out.gradient_bias[j] = M * mean[j];
  out.cost_noise = std::fabs(M * mean[n]) +
                   unseen * (2 * (M / S) * std::sqrt(cost_group * G / std::max(1.0, G - 1)) + 2 * std::sqrt(M * cost_row / S));
  return out;
}

}  // namespace nlsq::inline v0
