// The recheck compares the compiled program's residuals with the user's own function, and measures the sizes
// to which rounding errors are proportional. The certificate does not trust the program that it certifies.
#include "dense/dense_scratch.hpp"
#include "dense/row_groups.hpp"
#include "support/constants.hpp"

#include "program/local_buffer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

namespace nlsq::inline v0 {

namespace {

constexpr double kSquareable = 0x1p-511;  // the square of a smaller number loses some or all digits

// Residuals this small are rounding errors of a few operations, because floating point has no finer numbers.
// A fit to y = 0 ends with such residuals.
constexpr double kFinest = 16 * std::numeric_limits<double>::denorm_min();

// Sums over one column of J, or over r, for the sampled rows.
struct ColumnSums {
  double squares = 0, terms = 0, largest = 0;

  void add(const double* values, const double* sizes, std::size_t count) {
    double sum = 0;
    kernels().term_sums(values, sizes, count, &sum, &terms);
    squares += sum;
    // The largest value matters only if it might be too small to square.
    double top = std::sqrt(sum / static_cast<double>(count));
    if (!(sum > 1e-280)) {
      for (std::size_t i = 0; i < count; ++i) top = std::max(top, std::fabs(values[i]));
    }
    largest = std::max(largest, top);
  }
  bool underflows() const { return largest > 0 && largest < kSquareable; }
};

// The differences between a pass and the user's own function, and the sizes of the terms, over the sampled
// rows.
class RowComparison {
 public:
  // The terms of a model may be far larger than the model itself, for example if exponentials cancel. The
  // first-order terms |J_ij| |x_j| show this. If the model gives typical sizes of parameters, each parameter
  // counts with at least that size.
  RowComparison(const RowModel& model, std::span<const double> x)
      : sums_(x.size() + 1), sizes_of_x_(x.size()) {
    for (std::size_t j = 0; j < x.size(); ++j) sizes_of_x_[j] = model.size_of(j, x[j]);
  }

  // Compares the results of two calls for the same row. `size` is the size of its terms.
  void add_repeat(double one, double other, double size) {
    note(one - other, size);
    difference_squares_ += (one - other) * (one - other);
  }

  // `columns` are [J | r] of the pass. `residuals` and `sizes` are from the user's function, and are
  // overwritten.
  void add(const double* const* columns, double* residuals, double* sizes, std::size_t count) {
    const std::size_t n = sizes_of_x_.size();
    kernels().add_first_order_terms(columns, sizes_of_x_.data(), static_cast<int>(n), count, sizes);
    for (std::size_t i = 0; i < count; ++i) {
      const double r = std::fabs(residuals[i]);
      sizes[i] = sizes[i] < r ? r : sizes[i];
      residuals[i] = columns[n][i] - residuals[i];
    }
    double unused = 0;
    kernels().term_sums(sizes, sizes, count, &magnitude_squares_, &unused);
    kernels().term_sums(residuals, sizes, count, &difference_squares_, &unused);
    // Few groups have a difference that is larger than all before. This loop, which vectorizes, finds them.
    std::int64_t larger = 0;
    for (std::size_t i = 0; i < count; ++i) larger |= !(std::fabs(residuals[i]) <= largest_ * sizes[i]);
    for (std::size_t i = 0; larger != 0 && i < count; ++i) note(residuals[i], sizes[i]);
    for (std::size_t j = 0; j <= n; ++j) sums_[j].add(columns[j], sizes, count);
    rows_ += count;
  }

  // Scales the sums to all `rows` of the model.
  void store(std::size_t rows, Recheck& out) {
    const std::size_t n = sizes_of_x_.size();
    const double share = static_cast<double>(rows) / static_cast<double>(std::max<std::size_t>(1, rows_));
    const auto size_of = [share](const ColumnSums& sums) {
      return sums.squares > 0 ? sums.terms / std::sqrt(sums.squares) * std::sqrt(share) : 0.0;
    };
    out.rows = rows_;
    out.largest = largest_;
    out.discrepancy = std::sqrt(difference_squares_ * share);
    out.magnitude = std::sqrt(magnitude_squares_ * share);
    // Residuals that vanish beside their terms count as zero, however small they are.
    const bool none = sums_[n].largest <= std::max(kFinest, 0x1p-53 * out.magnitude);
    out.underflow = sums_[n].underflows() && !none;
    out.column_magnitude.resize(n);
    for (std::size_t j = 0; j < n; ++j) {
      out.underflow = out.underflow || (sums_[j].underflows() && sums_[n].largest > 0 && !none);
      out.column_magnitude[j] = size_of(sums_[j]);
    }
    out.cost_magnitude = size_of(sums_[n]);
  }

 private:
  void note(double difference, double size) {
    const double d = std::fabs(difference);
    if (!(d <= largest_ * size)) largest_ = std::isfinite(d) ? d / size : kInfinity;
  }

  LocalBuffer<ColumnSums, 16> sums_;
  LocalBuffer<double, 16> sizes_of_x_;
  double largest_ = 0, difference_squares_ = 0, magnitude_squares_ = 0;
  std::size_t rows_ = 0;
};

}  // namespace

double DenseEvaluator::jacobian_error() const {
  return std::string_view(model_.kind()) == "finite differences" ? 1e-8 : 0.0;
}

void DenseEvaluator::recheck_into(std::span<const double> x, std::size_t max_rows, Recheck& out) {
  const auto n = static_cast<std::size_t>(parameters());
  TilePass& pass = scratch_->pass(model_, x, Fill::jacobian_and_residual, false);
  scratch_->residuals.resize(std::max(kRowGroup, model_.tile_rows()));
  scratch_->magnitudes.resize(scratch_->residuals.size());
  double *residuals = scratch_->residuals.data(), *sizes = scratch_->magnitudes.data();
  out.repeats = true;
  RowComparison comparison(model_, x);
  const bool called = by_calls();
  const auto check = [&](std::size_t first, std::size_t count) {
    const double* const* columns = pass.fill_f64(first, count, counters_);
    // Makes the same call twice in a row. A function whose state changes on every call might agree with the
    // program once. Without a program, the pass and the reference are already two calls.
    if (!called && model_.may_have_state()) {
      double again[2], terms[2];
      for (int k = 0; k < 2; ++k) model_.reference_residuals(x, first + count / 2, 1, &again[k], &terms[k]);
      comparison.add_repeat(again[0], again[1], std::max(terms[0], terms[1]));
      out.repeats = out.repeats && again[0] == again[1];
    }
    model_.reference_residuals(x, first, count, residuals, sizes);
    if (called) out.repeats = out.repeats && std::equal(residuals, residuals + count, columns[n]);
    comparison.add(columns, residuals, sizes, count);
  };
  if (model_.rows() <= max_rows) {  // every row, in whole tiles
    for (std::size_t t = 0; t < model_.tile_count(); ++t) check(model_.tile(t).first, model_.tile(t).count);
  } else {
    const std::vector<TileRange> groups = row_groups(model_, max_rows);
    const ReadGaps gaps(model_, groups.size());
    for (const TileRange& group : groups) check(group.first, group.count);
  }
  comparison.store(model_.rows(), out);
  work_ += static_cast<double>(out.rows) * row_cost();
  out.wrong_column = -1;
  out.wrong_loss = false;
  out.jacobian_difference = 0;
  if (std::string_view(model_.kind()) == "derivatives") check_jacobian(x, row_groups(model_, max_rows), out);
}

}  // namespace nlsq::inline v0
