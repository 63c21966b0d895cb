// Measures the error of f32 residuals on a few rows, before a fit trusts a pass in f32.
#include "dense/dense_algebra.hpp"
#include "dense/dense_scratch.hpp"
#include "dense/row_groups.hpp"

#include <Eigen/Core>

#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kGroupRows = 64, kSampledRows = 1024;

// Moves the linear parameters of x to their least-squares values on these rows, and updates r.
void solve_linear_part(const Eigen::MatrixXd& columns, std::span<const int> linear, Vector& x,
                       Eigen::VectorXd& r) {
  if (linear.empty() || columns.rows() < columns.cols()) return;
  Eigen::VectorXd scale = columns.colwise().norm();
  for (double& s : scale) s = s > 0 ? s : 1;
  const Eigen::MatrixXd unit = columns * scale.cwiseInverse().asDiagonal();
  Eigen::VectorXd s(columns.cols());
  dense::least_squares(unit.data(), static_cast<std::size_t>(unit.rows()), linear.size(), r.data(), 1e-12,
                       s.data());
  if (!s.allFinite()) return;
  r -= unit * s;
  for (Eigen::Index j = 0; j < s.size(); ++j)
    x[static_cast<std::size_t>(linear[static_cast<std::size_t>(j)])] -= s[j] / scale[j];
}

}  // namespace

double DenseEvaluator::low_row_error(std::span<const double> x, std::span<const int> linear) {
  const std::vector<TileRange> groups = row_groups(model_, kSampledRows, kGroupRows);
  const ReadGaps gaps(model_, groups.size());
  Eigen::Index rows = 0, first = 0;
  for (const TileRange& group : groups) rows += static_cast<Eigen::Index>(group.count);
  const auto n = static_cast<std::size_t>(parameters());
  Eigen::MatrixXd columns(rows, static_cast<Eigen::Index>(linear.size()));
  Eigen::VectorXd r(rows);
  TilePass& high = scratch_->pass(model_, x, Fill::jacobian_and_residual, false);
  for (const TileRange& group : groups) {
    const auto count = static_cast<Eigen::Index>(group.count);
    const double* const* tile = high.fill_f64(group.first, group.count, counters_);
    r.segment(first, count) = Eigen::Map<const Eigen::VectorXd>(tile[n], count);
    for (std::size_t j = 0; j < linear.size(); ++j) {
      const double* column = tile[static_cast<std::size_t>(linear[j])];
      columns.col(static_cast<Eigen::Index>(j)).segment(first, count) =
          Eigen::Map<const Eigen::VectorXd>(column, count);
    }
    first += count;
  }
  const auto sampled = static_cast<double>(rows);
  work_ += sampled * row_cost();
  if (!r.allFinite() || !columns.allFinite()) return 0;  // the pass over all rows finds that out
  Vector moved(x.begin(), x.end());
  solve_linear_part(columns, linear, moved, r);
  double difference = 0;
  TilePass& low = scratch_->pass(model_, moved, Fill::residual, true);
  first = 0;
  for (const TileRange& group : groups) {
    const auto count = static_cast<Eigen::Index>(group.count);
    const float* const residuals = low.fill_f32(group.first, group.count, counters_)[n];
    difference +=
        (Eigen::Map<const Eigen::VectorXf>(residuals, count).cast<double>() - r.segment(first, count))
            .squaredNorm();
    first += count;
  }
  work_ += 0.5 * sampled * model_.row_cost(Fill::residual);
  if (difference == 0 || !std::isfinite(difference))
    return 0;  // tiles beyond the range of f32 are redone in f64
  const double size = r.squaredNorm();
  return size > 0 ? std::sqrt(difference / size) : std::numeric_limits<double>::max();
}

}  // namespace nlsq::inline v0
