// Implements the Cholesky factor of a covariance, and rows whitened by it.
#include "dense/whitened_rows.hpp"

#include "dense/dense_algebra.hpp"
#include "rows/calls/tile_buffer.hpp"

#include <nlsq/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace nlsq::inline v0 {

namespace {

void check_covariance(const Matrix& C, std::size_t rows) {
  if (C.rows() != rows || C.columns() != rows) {
    throw ValidationError(
        fmt::format("sigma_matrix is {} x {}, y has {} rows: give the covariance of each with each", C.rows(),
                    C.columns(), rows));
  }
  constexpr double kAlike = 1e-10;  // relative to the geometric mean of both variances
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      for (const auto& [a, b] : {std::pair(i, j), std::pair(j, i)}) {
        if (!std::isfinite(C(a, b)))
          throw ValidationError(
              fmt::format("sigma_matrix: row {}, column {} is {}: not finite", a, b, C(a, b)));
      }
      if (!(std::fabs(C(i, j) - C(j, i)) <= kAlike * std::sqrt(std::fabs(C(i, i) * C(j, j))))) {
        throw ValidationError(
            fmt::format("sigma_matrix is not symmetric: row {}, column {} is {:g}, row {}, column {} is {:g}",
                        i, j, C(i, j), j, i, C(j, i)));
      }
    }
  }
}

}  // namespace

// Factors row by row, so that the first row that fails is known.
Whitening::Whitening(const Matrix& covariance, std::size_t rows) : L_(rows, rows), inverse_(rows, rows) {
  check_covariance(covariance, rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const double* row = &L_(i, 0);
    for (std::size_t j = 0; j < i; ++j)
      L_(i, j) = (covariance(i, j) - dense::dot(row, &L_(j, 0), j)) / L_(j, j);
    const double left = covariance(i, i) - dense::dot(row, row, i);
    // This is the variance of row i given the rows before it. A value within rounding errors does not count
    // as variance.
    if (!(left > 0x1p-52 * static_cast<double>(i + 1) * covariance(i, i))) {
      throw ValidationError(
          fmt::format("sigma_matrix is not positive definite: at row {0}, column {0} nothing is left of the "
                      "variance {1:g} once the rows "
                      "before it are known",
                      i, covariance(i, i)));
    }
    L_(i, i) = std::sqrt(left);
  }
  // Column j of the inverse is zero above the diagonal, so only the lower triangle is used.
  std::vector<double> column(rows);
  for (std::size_t j = 0; j < rows; ++j) {
    std::fill(column.begin(), column.end(), 0.0);
    column[j] = 1;
    dense::solve_upper_transposed(&L_(j, j), rows - j, rows, &column[j]);
    for (std::size_t i = j; i < rows; ++i) inverse_(i, j) = column[i];
  }
}

void Whitening::apply(double* v) const {
  // L stored by rows is its transpose stored by columns.
  dense::solve_upper_transposed(L_.data(), rows(), rows(), v);
}

void Whitening::apply_to_sizes(double* m) const {
  for (std::size_t i = rows(); i-- > 0;) {  // row i uses the sizes up to its own
    double sum = 0;
    for (std::size_t j = 0; j <= i; ++j) sum += std::fabs(inverse_(i, j)) * m[j];
    m[i] = sum;
  }
}

double Whitening::total_squares(std::vector<double> y) const {
  std::vector<double> one(y.size(), 1.0);
  apply(y.data());
  apply(one.data());
  double yy = 0, yo = 0, oo = 0;
  for (std::size_t i = 0; i < y.size(); ++i) yo += y[i] * one[i], oo += one[i] * one[i];
  for (std::size_t i = 0; i < y.size(); ++i) yy += std::pow(y[i] - yo / oo * one[i], 2);
  return yy;
}

struct WhitenedRows::Evaluation {
  std::vector<double> x;
  std::vector<std::vector<double>> columns;  // J, then r; J is absent if it was not requested
  KernelCounters counters;                   // of the rows that were whitened
  bool derivatives() const { return columns.size() > 1; }
};

double WhitenedRows::row_cost(Fill fill) const {
  const double columns = fill == Fill::residual ? 1 : 1 + parameters();
  return rows_.row_cost(fill) + columns * static_cast<double>(rows());
}

// Evaluates the rows only once at a time: callers that need the same x wait for the result and share it.
std::shared_ptr<const WhitenedRows::Evaluation> WhitenedRows::evaluate(std::span<const double> x,
                                                                       bool derivatives) const {
  const std::lock_guard lock(mutex_);
  if (latest_ && std::equal(x.begin(), x.end(), latest_->x.begin(), latest_->x.end()) &&
      (latest_->derivatives() || !derivatives))
    return latest_;
  auto result = std::make_shared<Evaluation>();
  result->x.assign(x.begin(), x.end());
  const std::size_t asked = derivatives ? static_cast<std::size_t>(parameters()) + 1 : 1;
  result->columns.assign(asked, std::vector<double>(rows()));
  const Fill fill = derivatives ? Fill::jacobian_and_residual : Fill::residual;
  rows_.prepare(x, fill);
  const std::unique_ptr<TilePass> pass = rows_.begin(x, fill, false);
  for (std::size_t t = 0; t < rows_.tile_count(); ++t) {
    const TileRange tile = rows_.tile(t);
    double* const* columns = pass->fill_f64(tile.first, tile.count, result->counters);
    const std::size_t skipped = static_cast<std::size_t>(parameters()) + 1 - asked;
    for (std::size_t c = 0; c < asked; ++c)
      std::copy_n(columns[skipped + c], tile.count, result->columns[c].data() + tile.first);
  }
  for (std::vector<double>& column : result->columns) whitening_.apply(column.data());
  latest_ = result;
  return result;
}

bool WhitenedRows::extrapolate(bool on) {
  if (!rows_.extrapolate(on)) return false;
  const std::lock_guard lock(mutex_);
  latest_.reset();
  return true;
}

void WhitenedRows::prepare(std::span<const double> x, Fill fill) const {
  evaluate(x, fill == Fill::jacobian_and_residual);
}

std::unique_ptr<TilePass> WhitenedRows::begin(std::span<const double> x, Fill fill, bool single) const {
  if (single) throw ValidationError("rows with a covariance are evaluated in f64 only");
  const bool derivatives = fill == Fill::jacobian_and_residual;
  std::shared_ptr<const Evaluation> at = evaluate(x, derivatives);
  const auto all = static_cast<std::size_t>(parameters()) + 1, asked = derivatives ? all : 1;
  std::vector<const double*> columns;
  for (std::size_t c = at->columns.size() - asked; c < at->columns.size(); ++c)
    columns.push_back(at->columns[c].data());
  return std::make_unique<CopyPass>(std::move(at), std::move(columns), tile_rows(), parameters(),
                                    all * (tile_rows() + rows()) * sizeof(double));
}

// A value that is not finite spreads to all later rows, so this checks all rows.
RowModel::NonFinite WhitenedRows::explain_non_finite(std::span<const double> x, std::size_t, std::size_t) {
  NonFinite why = NonFinite::genuine;
  for (std::size_t t = 0; t < rows_.tile_count(); ++t) {
    const TileRange tile = rows_.tile(t);
    const NonFinite one = rows_.explain_non_finite(x, tile.first, tile.count);
    if (one == NonFinite::give_up) return one;
    if (one == NonFinite::retry) why = one;
  }
  if (why == NonFinite::retry) {
    const std::lock_guard lock(mutex_);
    latest_.reset();
  }
  return why;
}

void WhitenedRows::reference_residuals(std::span<const double> x, std::size_t first, std::size_t count,
                                       double* residuals, double* magnitudes) const {
  const std::lock_guard lock(mutex_);
  if (first == 0 || !std::equal(x.begin(), x.end(), reference_at_.begin(), reference_at_.end())) {
    reference_.resize(rows());
    reference_sizes_.resize(rows());
    rows_.reference_residuals(x, 0, rows(), reference_.data(), reference_sizes_.data());
    whitening_.apply(reference_.data());
    whitening_.apply_to_sizes(reference_sizes_.data());
    reference_at_.assign(x.begin(), x.end());
  }
  std::copy_n(reference_.data() + first, count, residuals);
  std::copy_n(reference_sizes_.data() + first, count, magnitudes);
}

}  // namespace nlsq::inline v0
