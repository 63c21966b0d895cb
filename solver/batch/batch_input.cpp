// Implements the input of curve_fit_batch: columns for each fit, and the checks of the caller's arguments.
#include "batch/batch.hpp"
#include "fit/fit_setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

bool usable(const Column& column, Wanted wanted) {
  constexpr std::size_t kBlock = 256;
  double block[kBlock];
  bool good = true;
  for (std::size_t first = 0; first < column.size(); first += kBlock) {
    const std::size_t count = std::min(kBlock, column.size() - first);
    const double* values = column.direct_f64(first);
    if (values == nullptr) {
      column.read(first, count, block);
      values = block;
    }
    good = good && all_usable(values, count, wanted);
  }
  return good;
}

namespace {

void check_column(const ColumnPerFit& column, const ColumnPerFit& y, const std::string& name) {
  if (!column.shared() && column.size() != y.size()) {
    throw DataError(fmt::format("{} has columns for {} fits, y for {}", name, column.size(), y.size()));
  }
  for (std::size_t f = 0; f < y.size(); ++f) {
    if (column[f].size() == y[f].size()) continue;
    throw DataError(fmt::format("fit {}: {} has {} rows, y has {}: give columns of one length", f, name,
                                column[f].size(), y[f].size()));
  }
}

// Throws ValidationError for a start that is not finite or outside the bounds, and names the fit that it
// belongs to.
void check_starts(const Batch& batch, const Limits& limits) {
  const Matrix& P0 = batch.start;
  const auto of_fit = [&](std::size_t f) { return P0.rows() == 1 ? "P0" : fmt::format("P0 of fit {}", f); };
  for (std::size_t f = 0; f < P0.rows(); ++f) {
    const double* const start = batch.start_of(f);
    for (std::size_t j = 0; j < P0.columns(); ++j) {
      if (!std::isfinite(start[j]))
        throw ValidationError(fmt::format("{}: {} = {} is not finite: give a number to start from", of_fit(f),
                                          batch.model.names[j], start[j]));
    }
    if (!limits.empty())
      check_within(limits, batch.model.names, {start, start + P0.columns()}, of_fit(f).c_str());
  }
}

}  // namespace

void check_input(const Batch& batch, const BatchOptions& given, const Limits& limits) {
  check_options(given);
  const std::vector<std::string>& names = batch.model.predictors;
  if (given.callback) throw ValidationError("callback: a batch takes none");
  if (batch.y.empty() || batch.y.shared()) throw DataError("Y: give one column for each fit");
  if (batch.x.size() != names.size()) {
    throw DataError(fmt::format("the model has {} predictor(s) ({}), {} were given", names.size(),
                                fmt::join(names, ", "), batch.x.size()));
  }
  for (std::size_t k = 0; k < names.size(); ++k) check_column(batch.x[k], batch.y, names[k]);
  if (batch.weighted()) check_column(batch.sigma, batch.y, "sigma");
  if (batch.weighted() && given.loss.is_counts()) {
    throw ValidationError(
        "loss poisson: the standard deviation of a count is the root of the model; leave sigma out");
  }
  if (!given.sigma_matrix.empty()) throw ValidationError("sigma_matrix: not of a batch; fit curve by curve");
  if (!given.sigma_x.empty())
    throw ValidationError("sigma_x: not of a batch; fit curve by curve, or give what it amounts to as sigma");
  const Matrix& P0 = batch.start;
  if (P0.columns() != batch.model.names.size() || (P0.rows() != 1 && P0.rows() != batch.fits())) {
    throw ValidationError(fmt::format("P0 is {} x {}: give {} columns ({}), and one row or {}", P0.rows(),
                                      P0.columns(), batch.model.names.size(),
                                      fmt::join(batch.model.names, ", "), batch.fits()));
  }
  if (!batch.no_start.empty() && batch.no_start.size() != P0.rows() * P0.columns())
    throw ValidationError(fmt::format("unstarted has {} values, P0 {}: give one for each, or none",
                                      batch.no_start.size(), P0.rows() * P0.columns()));
  check_starts(batch, limits);
}

std::string what_is_wrong(const Batch& batch, std::size_t fit) {
  std::vector<Column> x;
  for (const ColumnPerFit& column : batch.x) x.push_back(column[fit]);
  FitOptions options = batch.options;
  if (batch.weighted()) options.sigma = batch.sigma[fit];
  try {
    check_counts(batch.y[fit].size(), batch.free.size());
    surveyed_rows(Columns(std::move(x)), batch.y[fit], options, batch.model.predictors).survey->run();
  } catch (const Error& e) {
    return e.what();
  }
  return "the data cannot be fitted";
}

ColumnPerFit::ColumnPerFit(const Matrix& fits_by_rows)
    : ColumnPerFit(of(fits_by_rows.data(), fits_by_rows.rows(), fits_by_rows.columns())) {}

std::vector<double> detail::first_row(const Matrix& P0) {
  if (P0.rows() == 0) throw ValidationError("P0 has no rows");
  return {P0.data(), P0.data() + P0.columns()};
}

Columns detail::of_first_fit(const std::vector<ColumnPerFit>& x) {
  std::vector<Column> columns;
  for (const ColumnPerFit& column : x) {
    if (column.empty()) throw DataError("x has no columns");
    columns.push_back(column[0]);
  }
  return columns;
}

}  // namespace nlsq::inline v0
