// The recheck: compares the compiled program's residuals with the user's own function, and measures the sizes
// that rounding errors scale with. The certificate does not trust the program that it certifies.
#include "dense/dense_scratch.hpp"
#include "dense/row_groups.hpp"

#include "program/local_buffer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kGroup = 64;
constexpr double kSquareable = 0x1p-511;  // the square of a smaller number loses some or all digits

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

}  // namespace

double DenseEvaluator::jacobian_error() const {
  return std::string_view(model_.kind()) == "finite differences" ? 1e-8 : 0.0;
}

void DenseEvaluator::recheck_into(std::span<const double> x, std::size_t max_rows, Recheck& out) {
  const std::size_t m = model_.rows();
  const auto n = static_cast<std::size_t>(parameters());
  TilePass& pass = scratch_->pass(model_, x, Fill::jacobian_and_residual, false);
  scratch_->residuals.resize(std::max(kGroup, model_.tile_rows()));
  scratch_->magnitudes.resize(scratch_->residuals.size());
  double *residuals = scratch_->residuals.data(), *sizes = scratch_->magnitudes.data();
  out.rows = 0;
  out.repeats = true;
  double difference_squares = 0, magnitude_squares = 0;
  LocalBuffer<ColumnSums, 16> sums(n + 1);
  // The terms of a model may be far larger than the model itself: powers in a polynomial, exponentials that
  // cancel. The first-order terms |J_ij| |x_j| show it. Where a function does not use y, a parameter counts
  // with at least its typical size.
  LocalBuffer<double, 16> coefficients(n);
  const std::span<const double> typical = model_.typical_parameters();
  for (std::size_t j = 0; j < n; ++j)
    coefficients[j] = std::max(std::fabs(x[j]), j < typical.size() ? typical[j] : 0.0);
  const bool called = model_.one_point() && std::string_view(model_.kind()) != "graph";
  double largest = 0;
  const auto note = [&largest](double difference, double size) {
    const double d = std::fabs(difference);
    if (!(d <= largest * size))
      largest = std::isfinite(d) ? d / size : std::numeric_limits<double>::infinity();
  };
  const auto check = [&](std::size_t first, std::size_t count) {
    const double* const* columns = pass.fill_f64(first, count, counters_);
    // Makes the same call twice in a row. A function with state that changes on every call might agree with
    // the program once. Without a program, the pass and the reference are two calls already.
    if (!called && model_.may_have_state()) {
      double again[2], terms[2];
      for (int k = 0; k < 2; ++k) model_.reference_residuals(x, first + count / 2, 1, &again[k], &terms[k]);
      note(again[0] - again[1], std::max(terms[0], terms[1]));
      difference_squares += (again[0] - again[1]) * (again[0] - again[1]);
      out.repeats = out.repeats && again[0] == again[1];
    }
    model_.reference_residuals(x, first, count, residuals, sizes);
    if (called) out.repeats = out.repeats && std::equal(residuals, residuals + count, columns[n]);
    kernels().add_first_order_terms(columns, coefficients.data(), static_cast<int>(n), count, sizes);
    for (std::size_t i = 0; i < count; ++i) {
      const double r = std::fabs(residuals[i]);
      sizes[i] = sizes[i] < r ? r : sizes[i];
      residuals[i] = columns[n][i] - residuals[i];
    }
    double unused = 0;
    kernels().term_sums(sizes, sizes, count, &magnitude_squares, &unused);
    kernels().term_sums(residuals, sizes, count, &difference_squares, &unused);
    // Few groups have a difference that is larger than all before. This loop, which vectorizes, finds them.
    std::int64_t larger = 0;
    for (std::size_t i = 0; i < count; ++i) larger |= !(std::fabs(residuals[i]) <= largest * sizes[i]);
    for (std::size_t i = 0; larger != 0 && i < count; ++i) note(residuals[i], sizes[i]);
    for (std::size_t j = 0; j <= n; ++j) sums[j].add(columns[j], sizes, count);
    out.rows += count;
  };
  if (m <= max_rows) {  // every row, in whole tiles
    for (std::size_t t = 0; t < model_.tile_count(); ++t) check(model_.tile(t).first, model_.tile(t).count);
  } else {
    const std::vector<TileRange> groups = row_groups(model_, max_rows, kGroup);
    const ReadGaps gaps(model_, groups.size());
    for (const TileRange& group : groups) check(group.first, group.count);
  }
  out.largest = largest;
  const double share = static_cast<double>(m) / static_cast<double>(std::max<std::size_t>(1, out.rows));
  out.discrepancy = std::sqrt(difference_squares * share);
  out.magnitude = std::sqrt(magnitude_squares * share);
  // Residuals that vanish beside their terms count as zero, however small they are.
  const bool none = sums[n].largest <= 0x1p-53 * out.magnitude;
  out.underflow = sums[n].underflows() && !none;
  out.column_magnitude.resize(n);
  for (std::size_t j = 0; j < n; ++j) {
    const double squares = sums[j].squares;
    out.underflow = out.underflow || (sums[j].underflows() && sums[n].largest > 0 && !none);
    out.column_magnitude[j] = squares > 0 ? sums[j].terms / std::sqrt(squares) * std::sqrt(share) : 0.0;
  }
  const double squares = sums[n].squares;
  out.cost_magnitude = squares > 0 ? sums[n].terms / std::sqrt(squares) * std::sqrt(share) : 0.0;
  work_ += static_cast<double>(out.rows) * row_cost();
  out.wrong_column = -1;
  out.jacobian_difference = 0;
  if (std::string_view(model_.kind()) == "derivatives")
    check_jacobian(x, row_groups(model_, max_rows, kGroup), out);
}

}  // namespace nlsq::inline v0
