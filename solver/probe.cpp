// The probe: the same rows under a plan and in f64. It sees data rounding, the math library, parameter
// rounding, everything, because it assumes nothing.
#include "dense_evaluator.hpp"
#include "dense_scratch.hpp"
#include "row_groups.hpp"

#include <nlsq/convert.hpp>

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kGroup = 64;     // neighbouring rows evaluated together
constexpr std::size_t kGroups = 64;    // spread evenly over the rows: 4,096 rows at most
constexpr std::size_t kKept = 16;      // rows of a group whose J is kept
constexpr std::size_t kLeastGroups = 8;  // of a component

using Columns = const double* const*;

// Sums over groups of rows: the gradient and the cost in a plan's rows less those in f64. Each is summed by itself
// in f64, which costs eight digits of the difference and leaves eight.
class Differences {
 public:
  explicit Differences(std::size_t n) : n1_(n + 1), low_(n1_), high_(n1_) {}

  void of(const float* const* low, Columns high, std::size_t count, KernelCounters& counters, Vector& out) {
    std::ranges::fill(low_, 0.0);
    std::ranges::fill(high_, 0.0);
    kernels().gradient_f32_wide(low, static_cast<int>(n1_), count, low_.data(), &counters);
    kernels().gradient_f64(high, static_cast<int>(n1_), count, high_.data(), &counters);
    for (std::size_t j = 0; j < n1_; ++j) out[j] = low_[j] - high_[j];
    out[n1_ - 1] *= 0.5;
  }

 private:
  std::size_t n1_;
  Vector low_, high_;
};

// Rows [first, last) of J as numbers of 16 bits hold them: f16 by powers of two, column by column.
void round_rows(Matrix& rows, std::size_t first, std::size_t last, Format format) {
  const std::size_t n = rows.columns(), count = last - first;
  if (format == Format::bf16) {
    const std::span<double> part(rows.data() + first * n, count * n);
    std::ranges::copy(convert(part, format, Rounding::direct).values(), part.begin());
    return;
  }
  Vector column(count);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < count; ++i) column[i] = rows(first + i, j);
    const Vector rounded = convert(column, format, Rounding::scaled).values();
    for (std::size_t i = 0; i < count; ++i) rows(first + i, j) = rounded[i];
  }
}

// A stratum: rows that are sampled by themselves, all of one plan. Without components there is one.
struct Stratum {
  PrecisionPlan plan;
  double rows = 0;                // that it stands for
  std::vector<TileRange> groups;
  std::size_t first = 0;          // its first group among all
  std::size_t kept = 0, kept_end = 0;  // its rows among those kept
};

// Rows of J kept for ε_J and η, scaled to stand for all rows.
class KeptRows {
 public:
  KeptRows(std::size_t groups, std::size_t n) : kept_(groups * kKept, n), low_(groups * kKept, n) {}
  std::size_t size() const { return rows_; }

  void add(const float* const* low, Columns high, std::size_t count) {
    for (std::size_t i = 0; i < std::min(count, kKept); ++i, ++rows_) {
      for (std::size_t j = 0; j < kept_.columns(); ++j) {
        kept_(rows_, j) = high[j][i];
        low_(rows_, j) = low ? static_cast<double>(low[j][i]) : static_cast<double>(static_cast<float>(high[j][i]));
      }
    }
  }

  void hand_over(Probe& out, const std::vector<Stratum>& strata, std::optional<Format> below) {
    out.column_squares.assign(kept_.columns(), 0.0);
    for (std::size_t i = 0; i < rows_; ++i) {
      for (std::size_t j = 0; j < kept_.columns(); ++j) out.column_squares[j] += kept_(i, j) * kept_(i, j);
    }
    // J of components that are in f64 is not rounded.
    for (const Stratum& s : strata) {
      if (strata.size() == 1 || s.plan.gram < Gram::f64) continue;
      std::copy(kept_.data() + s.kept * kept_.columns(), kept_.data() + s.kept_end * kept_.columns(), low_.data() + s.kept * kept_.columns());
    }
    if (below) {
      out.rounded_below = low_;
      for (const Stratum& s : strata) {
        if (s.plan.gram < Gram::f64) round_rows(out.rounded_below, s.kept, s.kept_end, *below);
      }
      scale(out.rounded_below, strata);
    }
    for (const Stratum& s : strata) {
      if (s.plan.gram == Gram::bf16) round_rows(low_, s.kept, s.kept_end, Format::bf16);
      if (s.plan.gram == Gram::f16) round_rows(low_, s.kept, s.kept_end, Format::f16);
    }
    scale(low_, strata);
    scale(kept_, strata);
    out.rounded = std::move(low_);
    out.jacobian = std::move(kept_);
  }

 private:
  static void scale(Matrix& rows, const std::vector<Stratum>& strata) {
    for (const Stratum& s : strata) {
      const double unit = std::sqrt(s.rows / static_cast<double>(std::max<std::size_t>(1, s.kept_end - s.kept)));
      for (std::size_t k = s.kept * rows.columns(); k < s.kept_end * rows.columns(); ++k) rows.data()[k] *= unit;
    }
  }

  Matrix kept_, low_;
  std::size_t rows_ = 0;
};

struct Extrapolated {
  NoiseOf noise;
  double cost_bias = 0, cost_variance = 0;
};

// What the sums of group after group of a stratum say about the sum over all its rows.
Extrapolated extrapolate(const Matrix& sums, const Vector& counts, const Stratum& stratum) {
  const std::size_t groups = stratum.groups.size(), n = sums.columns() - 1;
  double S = 0;
  for (std::size_t g = 0; g < groups; ++g) S += counts[stratum.first + g];
  const double m = stratum.rows, G = static_cast<double>(groups);
  Vector mean(n + 1, 0.0);
  for (std::size_t g = 0; g < groups; ++g) {
    for (std::size_t j = 0; j <= n; ++j) mean[j] += sums(stratum.first + g, j) / S;
  }
  // Variance of m*mean, and of the sum over m rows itself, from the scatter of the groups' sums. With every
  // row sampled nothing is left to extrapolate: the bias is exact, the rest is 0.
  const double ratio = m / S;
  const double unit = S >= m ? 0.0 : std::sqrt((ratio * ratio + ratio) * G / std::max(1.0, G - 1));
  Extrapolated out;
  out.noise.gradient_scatter = Matrix(groups, n);
  out.noise.gradient_bias.resize(n);
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t row = stratum.first + g;
    for (std::size_t j = 0; j < n; ++j) out.noise.gradient_scatter(g, j) = unit * (sums(row, j) - counts[row] * mean[j]);
    const double deviation = unit * (sums(row, n) - counts[row] * mean[n]);
    out.cost_variance += deviation * deviation;
  }
  for (std::size_t j = 0; j < n; ++j) out.noise.gradient_bias[j] = m * mean[j];
  out.cost_bias = m * mean[n];
  out.noise.cost_noise = std::fabs(out.cost_bias) + 2 * std::sqrt(out.cost_variance);
  return out;
}

// Biases add up, and so do variances: the rows of the scatter, one below the other.
void add_up(std::vector<Extrapolated> parts, Probe& out) {
  if (parts.size() == 1) {
    out.cost_noise = parts[0].noise.cost_noise;
    out.gradient_bias = std::move(parts[0].noise.gradient_bias);
    out.gradient_scatter = std::move(parts[0].noise.gradient_scatter);
    return;
  }
  const std::size_t n = parts[0].noise.gradient_bias.size();
  std::size_t groups = 0, row = 0;
  for (const Extrapolated& part : parts) groups += part.noise.gradient_scatter.rows();
  out.gradient_bias.assign(n, 0.0);
  out.gradient_scatter = Matrix(groups, n);
  double bias = 0, variance = 0;
  for (Extrapolated& part : parts) {
    bias += part.cost_bias;
    variance += part.cost_variance;
    for (std::size_t j = 0; j < n; ++j) out.gradient_bias[j] += part.noise.gradient_bias[j];
    for (std::size_t g = 0; g < part.noise.gradient_scatter.rows(); ++g, ++row) {
      for (std::size_t j = 0; j < n; ++j) out.gradient_scatter(row, j) = part.noise.gradient_scatter(g, j);
    }
    out.components.push_back(std::move(part.noise));
  }
  out.cost_noise = std::fabs(bias) + 2 * std::sqrt(variance);
}

}  // namespace

Probe DenseEvaluator::probe(std::span<const double> x, const PrecisionPlan& plan, std::optional<Format> below) {
  const auto n = static_cast<std::size_t>(parameters());
  std::vector<Stratum> strata;
  if (model_.components().size() < 2) {
    strata.push_back({plan_of_component(0, plan), static_cast<double>(model_.rows()), row_groups(model_, kGroup * kGroups, kGroup)});
  } else {
    std::vector<std::vector<TileRange>> tiles(model_.components().size());
    for (std::size_t t = 0; t < model_.tile_count(); ++t) tiles[model_.component(t)].push_back(model_.tile(t));
    for (std::size_t c = 0; c < tiles.size(); ++c) {
      std::size_t m = 0;
      for (const TileRange& tile : tiles[c]) m += tile.count;
      const std::size_t share = std::max(kLeastGroups, kGroups * m / model_.rows());
      strata.push_back({plan_of_component(c, plan), static_cast<double>(m), row_groups(tiles[c], kGroup * share, kGroup)});
    }
  }
  std::size_t groups = 0;
  for (Stratum& s : strata) s.first = groups, groups += s.groups.size();
  const bool low_rows = std::ranges::any_of(strata, [](const Stratum& s) { return s.plan.residual == Format::f32; });
  TilePass* const low_pass = low_rows ? &scratch_->pass(model_, x, Fill::jacobian_and_residual, true) : nullptr;
  TilePass& high_pass = scratch_->pass(model_, x, Fill::jacobian_and_residual, false);

  Probe out;
  Matrix sums(groups, n + 1);
  Vector counts, sum(n + 1, 0.0);
  Differences differences(n);
  KeptRows kept(groups, n);
  for (Stratum& stratum : strata) {
    stratum.kept = kept.size();
    const bool low_stratum = stratum.plan.residual == Format::f32;
    for (const TileRange& group : stratum.groups) {
      const std::size_t first = group.first;
      const std::size_t count = low_stratum ? group.count : std::min(group.count, kKept);  // f64 rows: J alone is of interest
      const float* const* low = low_stratum ? low_pass->fill_f32(first, count, counters_) : nullptr;
      const double* const* high = high_pass.fill_f64(first, count, counters_);
      std::ranges::fill(sum, 0.0);
      if (low) differences.of(low, high, count, counters_, sum);
      for (std::size_t j = 0; j <= n; ++j) {
        sums(counts.size(), j) = sum[j];
        out.finite = out.finite && std::isfinite(sum[j]);
      }
      kept.add(low, high, count);
      out.rows += count;
      counts.push_back(static_cast<double>(count));
    }
    stratum.kept_end = kept.size();
  }
  work_ += static_cast<double>(out.rows) * row_cost() * (low_rows ? 1.5 : 1.0);
  kept.hand_over(out, strata, below);
  std::vector<Extrapolated> parts;
  for (const Stratum& stratum : strata) parts.push_back(extrapolate(sums, counts, stratum));
  add_up(std::move(parts), out);
  return out;
}

}  // namespace nlsq::inline v0
