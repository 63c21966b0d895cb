// The probe evaluates the same rows under a plan and in f64. It assumes nothing about the sources of error,
// so it includes rounding of the data, of the parameters and in the math library. DenseSystem uses it.
#include "dense/dense_pass.hpp"
#include "dense/row_groups.hpp"
#include "support/parallel.hpp"

#include "convert.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kGroups = 64;      // spread evenly over the rows: 4,096 rows at most
constexpr std::size_t kKept = 16;        // rows of a group whose J is kept
constexpr std::size_t kLeastGroups = 8;  // per component
constexpr std::size_t kGroupsPerTask = 8;

using Columns = const double* const*;

// Gradient and cost of a group of rows in the plan's precision, minus those in f64. All are summed in f64, so
// the difference keeps about eight digits.
class Differences {
 public:
  explicit Differences(std::size_t n) : n1_(n + 1), low_(n1_), high_(n1_) {}

  void subtract(const float* const* low, Columns high, std::size_t count, KernelCounters& counters,
                Vector& out) {
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

// Rounds rows [first, last) of J to f16, with a power of two for each column.
void round_to_f16(Matrix& rows, std::size_t first, std::size_t last) {
  Vector column(last - first);
  for (std::size_t j = 0; j < rows.columns(); ++j) {
    for (std::size_t i = 0; i < column.size(); ++i) column[i] = rows(first + i, j);
    round_scaled_to(Format::f16, column);
    for (std::size_t i = 0; i < column.size(); ++i) rows(first + i, j) = column[i];
  }
}

// This is a stratum: rows of one plan that are sampled separately. Without components there is one stratum.
struct Stratum {
  PrecisionPlan plan;
  double rows = 0;  // number of rows it stands for
  std::vector<TileRange> groups;
  std::size_t first = 0;               // index of its first group
  std::size_t kept = 0, kept_end = 0;  // range of its rows among the kept ones

  bool low() const { return plan.residual == Format::f32; }
  // Returns the number of rows of a group to evaluate. For f64 rows only J is needed.
  std::size_t count(const TileRange& group) const {
    return low() ? group.count : std::min(group.count, kKept);
  }
};

// This is a group of rows from any stratum.
struct Group {
  const Stratum* stratum;
  TileRange rows;
  std::size_t kept;  // its first row among the kept ones
};

std::vector<Group> all_groups(std::vector<Stratum>& strata) {
  std::vector<Group> out;
  std::size_t kept = 0;
  for (Stratum& s : strata) {
    s.first = out.size();
    s.kept = kept;
    for (const TileRange& rows : s.groups) {
      out.push_back({&s, {rows.first, s.count(rows)}, kept});
      kept += std::min(rows.count, kKept);
    }
    s.kept_end = kept;
  }
  return out;
}

// Holds rows of J kept to measure ε_J and η, scaled to stand for all rows.
class KeptRows {
 public:
  KeptRows(const std::vector<Stratum>& strata, std::size_t n)
      : strata_(strata), kept_(strata.back().kept_end, n), low_(kept_.rows(), n) {}

  // Several threads may add groups at once.
  void add(const Group& group, const float* const* low, Columns high) {
    const std::size_t n = kept_.columns(), count = std::min(group.rows.count, kKept), first = group.kept * n;
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < count; ++i) {
        kept_(group.kept + i, j) = high[j][i];
        low_(group.kept + i, j) =
            low ? static_cast<double>(low[j][i]) : static_cast<double>(static_cast<float>(high[j][i]));
      }
    }
    const Gram gram = group.stratum->plan.gram;
    const std::span<double> part(low_.data() + first, count * n);
    if (strata_.size() > 1 && gram >= Gram::f64)
      std::copy_n(kept_.data() + first, part.size(), part.data());  // not rounded
    if (gram == Gram::bf16) round_to(Format::bf16, part);
  }

  void hand_over(Probe& out) {
    out.column_squares.assign(kept_.columns(), 0.0);
    for (std::size_t i = 0; i < kept_.rows(); ++i) {
      for (std::size_t j = 0; j < kept_.columns(); ++j) out.column_squares[j] += kept_(i, j) * kept_(i, j);
    }
    for (const Stratum& s : strata_) {
      if (s.plan.gram == Gram::f16) round_to_f16(low_, s.kept, s.kept_end);
    }
    scale(kept_);
    scale(low_);
    out.jacobian = std::move(kept_);
    out.rounded = std::move(low_);
  }

 private:
  void scale(Matrix& rows) const {
    for (const Stratum& s : strata_) {
      const double unit =
          std::sqrt(s.rows / static_cast<double>(std::max<std::size_t>(1, s.kept_end - s.kept)));
      for (std::size_t k = s.kept * rows.columns(); k < s.kept_end * rows.columns(); ++k)
        rows.data()[k] *= unit;
    }
  }

  const std::vector<Stratum>& strata_;
  Matrix kept_, low_;
};

// Chooses the sample: groups of rows of each component, or of all rows if there are no components.
// `plan_of(c)` returns the plan of component c.
std::vector<Stratum> strata_of(const RowModel& model, const auto& plan_of) {
  if (model.components().size() < 2)
    return {{plan_of(0), static_cast<double>(model.rows()), row_groups(model, kRowGroup * kGroups)}};
  std::vector<std::vector<TileRange>> tiles(model.components().size());
  for (std::size_t t = 0; t < model.tile_count(); ++t) tiles[model.component(t)].push_back(model.tile(t));
  std::vector<Stratum> strata;
  for (std::size_t c = 0; c < tiles.size(); ++c) {
    std::size_t m = 0;
    for (const TileRange& tile : tiles[c]) m += tile.count;
    const std::size_t share = std::max(kLeastGroups, kGroups * m / model.rows());
    strata.push_back({plan_of(c), static_cast<double>(m), row_groups(tiles[c], kRowGroup * share)});
  }
  return strata;
}

struct Extrapolated {
  NoiseOf noise;
  double cost_bias = 0, cost_variance = 0;
};

// Extrapolates the sums of the groups of a stratum to all its rows.
Extrapolated extrapolate_stratum(const Matrix& sums, const Vector& counts, const Stratum& stratum) {
  const std::size_t groups = stratum.groups.size(), n = sums.columns() - 1;
  double S = 0;
  for (std::size_t g = 0; g < groups; ++g) S += counts[stratum.first + g];
  const double m = stratum.rows, G = static_cast<double>(groups);
  Vector mean(n + 1, 0.0);
  for (std::size_t g = 0; g < groups; ++g) {
    for (std::size_t j = 0; j <= n; ++j) mean[j] += sums(stratum.first + g, j) / S;
  }
  // The variance of m*mean, and of the sum over m rows itself, follow from the spread of the groups' sums. If
  // every row was sampled, the bias is exact and both variances are 0.
  const double ratio = m / S;
  const double unit = S >= m ? 0.0 : std::sqrt((ratio * ratio + ratio) * G / std::max(1.0, G - 1));
  Extrapolated out;
  out.noise.gradient_scatter = Matrix(groups, n);
  out.noise.gradient_bias.resize(n);
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t row = stratum.first + g;
    for (std::size_t j = 0; j < n; ++j)
      out.noise.gradient_scatter(g, j) = unit * (sums(row, j) - counts[row] * mean[j]);
    const double deviation = unit * (sums(row, n) - counts[row] * mean[n]);
    out.cost_variance += deviation * deviation;
  }
  for (std::size_t j = 0; j < n; ++j) out.noise.gradient_bias[j] = m * mean[j];
  out.cost_bias = m * mean[n];
  out.noise.cost_noise = std::fabs(out.cost_bias) + 2 * std::sqrt(out.cost_variance);
  return out;
}

// Adds biases and variances of all strata. The rows of their scatter matrices are stacked.
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

Probe DenseEvaluator::probe(std::span<const double> x, const PrecisionPlan& plan) {
  const auto n = static_cast<std::size_t>(parameters());
  std::vector<Stratum> strata = strata_of(model_, [&](std::size_t c) { return plan_of_component(c, plan); });
  const std::vector<Group> groups = all_groups(strata);
  const ReadGaps gaps(model_, groups.size());
  const bool low_rows = std::ranges::any_of(strata, [](const Stratum& s) { return s.low(); });

  Probe out;
  Matrix sums(groups.size(), n + 1);
  Vector counts;
  for (const Group& group : groups) {
    counts.push_back(static_cast<double>(group.rows.count));
    out.rows += group.rows.count;
  }
  KeptRows kept(strata, n);
  const auto look = [&](std::size_t begin, std::size_t end, Scratch& scratch, KernelCounters& counters) {
    TilePass* const low_pass =
        low_rows ? &scratch.pass(model_, x, Fill::jacobian_and_residual, true) : nullptr;
    TilePass& high_pass = scratch.pass(model_, x, Fill::jacobian_and_residual, false);
    Differences differences(n);
    Vector sum(n + 1);
    for (std::size_t g = begin; g < end; ++g) {
      const auto [first, count] = groups[g].rows;
      const float* const* low =
          groups[g].stratum->low() ? low_pass->fill_f32(first, count, counters) : nullptr;
      const double* const* high = high_pass.fill_f64(first, count, counters);
      std::ranges::fill(sum, 0.0);
      if (low) differences.subtract(low, high, count, counters, sum);
      std::ranges::copy(sum, sums.data() + g * (n + 1));
      kept.add(groups[g], low, high);
    }
  };
  const double work = static_cast<double>(out.rows) * row_cost() * (low_rows ? 1.5 : 1.0);
  if (!model_.concurrent() || work < kThreadWork) {
    look(0, groups.size(), *scratch_, counters_);
  } else {
    model_.prepare(x, Fill::jacobian_and_residual);
    std::vector<KernelCounters> counters((groups.size() + kGroupsPerTask - 1) / kGroupsPerTask);
    workers_->begin(counters.size(), parallelism_);
    run_tasks(counters.size(), parallelism_, [&](std::size_t t) {
      auto scratch = workers_->take();
      look(t * kGroupsPerTask, std::min(groups.size(), (t + 1) * kGroupsPerTask), *scratch, counters[t]);
      workers_->give_back(std::move(scratch));
    });
    for (const KernelCounters& part : counters) counters_.add(part);
  }
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (std::size_t j = 0; j <= n; ++j) out.finite = out.finite && std::isfinite(sums(g, j));
  }
  work_ += work;
  kept.hand_over(out);
  std::vector<Extrapolated> parts;
  for (const Stratum& stratum : strata) parts.push_back(extrapolate_stratum(sums, counts, stratum));
  add_up(std::move(parts), out);
  return out;
}

}  // namespace nlsq::inline v0
