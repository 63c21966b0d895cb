// Measures the error of f32 residuals on a few rows, before a fit trusts a pass in f32.
#include "dense/dense_scratch.hpp"
#include "dense/row_groups.hpp"
#include "linear/small_svd.hpp"
#include "support/all_finite.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kSampledRows = 1024;

// Moves the linear parameters of x to their least-squares values on these rows, and updates r. `columns`
// holds the columns of J for the linear parameters, one after the other.
void solve_linear_part(const std::vector<double>& columns, std::span<const int> linear, Vector& x,
                       std::vector<double>& r) {
  const std::size_t rows = r.size(), k = linear.size();
  if (k == 0 || rows < k) return;
  std::vector<double> unit = columns, right = r, scale(k), s(k);
  for (std::size_t j = 0; j < k; ++j) {
    double square = 0;
    for (std::size_t i = 0; i < rows; ++i) square += columns[j * rows + i] * columns[j * rows + i];
    scale[j] = square > 0 ? std::sqrt(square) : 1;
    for (std::size_t i = 0; i < rows; ++i) unit[j * rows + i] /= scale[j];
  }
  if (!shortest_solution(unit.data(), rows, k, right.data(), 1e-12, s.data())) return;
  for (std::size_t j = 0; j < k; ++j) {
    const double step = s[j] / scale[j];
    for (std::size_t i = 0; i < rows; ++i) r[i] -= columns[j * rows + i] * step;
    x[static_cast<std::size_t>(linear[j])] -= step;
  }
}

}  // namespace

double DenseEvaluator::low_row_error(std::span<const double> x, std::span<const int> linear) {
  const std::vector<TileRange> groups = row_groups(model_, kSampledRows);
  const ReadGaps gaps(model_, groups.size());
  std::size_t rows = 0, first = 0;
  for (const TileRange& group : groups) rows += group.count;
  const auto n = static_cast<std::size_t>(parameters());
  std::vector<double> columns(rows * linear.size()), r(rows);
  TilePass& high = scratch_->pass(model_, x, Fill::jacobian_and_residual, false);
  for (const TileRange& group : groups) {
    const double* const* tile = high.fill_f64(group.first, group.count, counters_);
    std::copy_n(tile[n], group.count, &r[first]);
    for (std::size_t j = 0; j < linear.size(); ++j)
      std::copy_n(tile[static_cast<std::size_t>(linear[j])], group.count, &columns[j * rows + first]);
    first += group.count;
  }
  const auto sampled = static_cast<double>(rows);
  work_ += sampled * row_cost();
  if (!all_finite(r) || !all_finite(columns)) return 0;  // the pass over all rows handles this
  Vector moved(x.begin(), x.end());
  solve_linear_part(columns, linear, moved, r);
  double difference = 0, size = 0;
  TilePass& low = scratch_->pass(model_, moved, Fill::residual, true);
  first = 0;
  for (const TileRange& group : groups) {
    const float* const residuals = low.fill_f32(group.first, group.count, counters_)[n];
    for (std::size_t i = 0; i < group.count; ++i) {
      const double error = static_cast<double>(residuals[i]) - r[first + i];
      difference += error * error;
      size += r[first + i] * r[first + i];
    }
    first += group.count;
  }
  work_ += 0.5 * sampled * model_.row_cost(Fill::residual);
  if (difference == 0 || !std::isfinite(difference))
    return 0;  // tiles beyond the range of f32 are redone in f64
  return size > 0 ? std::sqrt(difference / size) : std::numeric_limits<double>::max();
}

}  // namespace nlsq::inline v0
