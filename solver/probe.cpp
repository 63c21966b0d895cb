// The probe: the same rows under a plan and in f64. It sees data rounding, the math library, parameter
// rounding, everything, because it assumes nothing.
#include "dense_evaluator.hpp"
#include "row_groups.hpp"

#include <nlsq/convert.hpp>

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kGroup = 64;     // neighbouring rows evaluated together
constexpr std::size_t kGroups = 64;    // spread evenly over the rows: 4,096 rows at most
constexpr std::size_t kKept = 16;      // rows of a group whose J is kept

using Columns = const double* const*;

// Σ over a group's rows of q = (gradient, cost) under the plan less that in f64.
void add_differences(const float* const* low, Columns high, std::size_t n, std::size_t count, Vector& sum) {
  for (std::size_t j = 0; j <= n; ++j) {
    const double weight = j == n ? 0.5 : 1;
    double total = 0;
    for (std::size_t i = 0; i < count; ++i) {
      total += static_cast<double>(low[j][i]) * static_cast<double>(low[n][i]) - high[j][i] * high[n][i];
    }
    sum[j] = weight * total;
  }
}

// J as numbers of 16 bits hold it: f16 by powers of two, column by column.
void round_rows(Matrix& rows, Format format) {
  if (format == Format::bf16) {
    const std::span<double> all(rows.data(), rows.rows() * rows.columns());
    const Converted done = convert(all, format, Rounding::direct);
    std::ranges::copy(done.values(), rows.data());
    return;
  }
  Vector column(rows.rows());
  for (std::size_t j = 0; j < rows.columns(); ++j) {
    for (std::size_t i = 0; i < column.size(); ++i) column[i] = rows(i, j);
    const Vector rounded = convert(column, format, Rounding::scaled).values();
    for (std::size_t i = 0; i < column.size(); ++i) rows(i, j) = rounded[i];
  }
}

// Rows of J kept for ε_J and η, scaled to stand for all m.
class KeptRows {
 public:
  KeptRows(std::size_t groups, std::size_t n) : kept_(groups * kKept, n), low_(groups * kKept, n) {}

  void add(const float* const* low, Columns high, std::size_t count) {
    for (std::size_t i = 0; i < std::min(count, kKept); ++i, ++rows_) {
      for (std::size_t j = 0; j < kept_.columns(); ++j) {
        kept_(rows_, j) = high[j][i];
        low_(rows_, j) = low ? static_cast<double>(low[j][i]) : static_cast<double>(static_cast<float>(high[j][i]));
      }
    }
  }

  void hand_over(Probe& out, Gram gram, std::optional<Format> below, double m) {
    const double unit = std::sqrt(m / static_cast<double>(std::max<std::size_t>(1, rows_)));
    const auto scaled = [&](Matrix rows, std::optional<Format> format) {
      if (format) round_rows(rows, *format);
      for (std::size_t k = 0; k < rows.rows() * rows.columns(); ++k) rows.data()[k] *= unit;
      return rows;
    };
    std::optional<Format> format;
    if (gram == Gram::bf16) format = Format::bf16;
    if (gram == Gram::f16) format = Format::f16;
    if (below) out.rounded_below = scaled(low_, below);
    out.rounded = scaled(std::move(low_), format);
    out.jacobian = scaled(std::move(kept_), std::nullopt);
  }

 private:
  Matrix kept_, low_;
  std::size_t rows_ = 0;
};

// What the sums of group after group say about the sum over all m rows.
void extrapolate(const Matrix& sums, const Vector& counts, double m, Probe& out) {
  const std::size_t groups = sums.rows(), n = sums.columns() - 1;
  const double S = static_cast<double>(out.rows), G = static_cast<double>(groups);
  Vector mean(n + 1, 0.0);
  for (std::size_t g = 0; g < groups; ++g) {
    for (std::size_t j = 0; j <= n; ++j) mean[j] += sums(g, j) / S;
  }
  // Variance of m*mean, and of the sum over m rows itself, from the scatter of the groups' sums. With every
  // row sampled nothing is left to extrapolate: the bias is exact, the rest is 0.
  const double ratio = m / S;
  const double unit = out.rows >= static_cast<std::size_t>(m) ? 0.0 : std::sqrt((ratio * ratio + ratio) * G / std::max(1.0, G - 1));
  out.gradient_scatter = Matrix(groups, n);
  out.gradient_bias.resize(n);
  double cost = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    for (std::size_t j = 0; j < n; ++j) out.gradient_scatter(g, j) = unit * (sums(g, j) - counts[g] * mean[j]);
    const double deviation = unit * (sums(g, n) - counts[g] * mean[n]);
    cost += deviation * deviation;
  }
  for (std::size_t j = 0; j < n; ++j) out.gradient_bias[j] = m * mean[j];
  out.cost_noise = std::fabs(m * mean[n]) + 2 * std::sqrt(cost);
}

}  // namespace

Probe DenseEvaluator::probe(std::span<const double> x, const PrecisionPlan& plan, std::optional<Format> below) {
  const auto n = static_cast<std::size_t>(parameters());
  const bool low_rows = plan.residual == Format::f32;
  const std::vector<TileRange> groups = row_groups(model_, kGroup * kGroups, kGroup);
  const auto low_pass = low_rows ? model_.begin(x, Fill::jacobian_and_residual, true) : nullptr;
  const auto high_pass = model_.begin(x, Fill::jacobian_and_residual, false);

  Probe out;
  out.column_squares.assign(n, 0.0);
  Matrix sums(groups.size(), n + 1);
  Vector counts, sum(n + 1, 0.0);
  KeptRows kept(groups.size(), n);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto [first, count] = groups[g];
    const float* const* low = low_rows ? low_pass->fill_f32(first, count, counters_) : nullptr;
    const double* const* high = high_pass->fill_f64(first, count, counters_);
    if (low) add_differences(low, high, n, count, sum);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < count; ++i) out.column_squares[j] += high[j][i] * high[j][i];
    }
    for (std::size_t j = 0; j <= n; ++j) {
      sums(g, j) = sum[j];
      out.finite = out.finite && std::isfinite(sum[j]);
    }
    kept.add(low, high, count);
    out.rows += count;
    counts.push_back(static_cast<double>(count));
  }
  work_ += static_cast<double>(out.rows) * row_cost() * (low_rows ? 1.5 : 1.0);
  const double m = static_cast<double>(model_.rows());
  kept.hand_over(out, plan.gram, below, m);
  extrapolate(sums, counts, m, out);
  return out;
}

}  // namespace nlsq::inline v0
