// Computes the rows of a curve by calls of the user's code, one row at a time.
#include <nlsq/error.hpp>
#include "rows/calls/fallback_rows.hpp"

#include "rows/calls/tile_buffer.hpp"

#include <cmath>
#include <string>

namespace nlsq::inline v0 {

namespace {

// The cost of a callable is unknown; one call in double is assumed to cost this many additions.
constexpr double kCallCost = 50;

class CallablePass final : public DoublePass {
 public:
  CallablePass(const CurveRows& rows, std::unique_ptr<RowFunction> function, std::size_t tile_rows, Fill fill)
      : data_(*rows.data), function_(std::move(function)),
        predictors_(static_cast<std::size_t>(rows.function.predictors)), weighted_(rows.weighted),
        values_(rows.values), tile_rows_(tile_rows), n_(rows.free.size()),
        jacobian_(fill == Fill::jacobian_and_residual),
        input_(static_cast<std::size_t>(rows.data->columns()) * tile_rows),
        tile_(tile_rows, static_cast<int>(n_), jacobian_), x_(predictors_ + 1), df_(n_ + 1) {}

  double* const* fill_f64(std::size_t first, std::size_t count, KernelCounters& counters) override {
    const std::size_t used = predictors_ + (weighted_ ? 2 : 1);
    for (std::size_t c = 0; c < used; ++c) {
      data_.read(first, count, static_cast<int>(c), input_.data() + c * tile_rows_);
    }
    for (std::size_t i = 0; i < count; ++i) row(i);
    counters.rows_f64 += count;
    return tile_.columns();
  }

 private:
  void row(std::size_t i) {
    for (std::size_t c = 0; c < predictors_; ++c) x_[c] = input(c, i);
    const double w = weighted_ ? 1 / input(predictors_ + 1, i) : 1.0;
    const double f = function_->evaluate(x_.data(), jacobian_ ? df_.data() : nullptr);
    tile_.residual()[i] = values_ ? f : (f - input(predictors_, i)) * w;
    for (std::size_t k = 0; jacobian_ && k < n_; ++k) tile_.columns()[k][i] = df_[k] * w;
  }
  double input(std::size_t column, std::size_t i) const { return input_.data()[column * tile_rows_ + i]; }

  const RowSource& data_;
  std::unique_ptr<RowFunction> function_;
  std::size_t predictors_;
  bool weighted_, values_;
  std::size_t tile_rows_, n_;
  bool jacobian_;
  AlignedVector<double> input_;
  TileBuffer tile_;
  std::vector<double> x_, df_;
};

}  // namespace

std::vector<double> expanded(std::vector<double> parameters, std::span<const int> free,
                             std::span<const double> x) {
  for (std::size_t k = 0; k < free.size(); ++k) parameters[static_cast<std::size_t>(free[k])] = x[k];
  return parameters;
}

CallableRows::CallableRows(CurveRows rows) : rows_(std::move(rows)) {
  if (!rows_.data) throw ValidationError("rows need a source of data");
  if (!rows_.function.value) throw ValidationError("rows need a callable in double");
  const int columns = rows_.data->columns(), needed = rows_.function.predictors + (rows_.weighted ? 2 : 1);
  if (columns < needed) {
    throw ValidationError("a model of " + std::to_string(rows_.function.predictors) + " predictors needs " +
                          std::to_string(needed) + " data columns" + (rows_.weighted ? " with sigma" : "") +
                          ", not " + std::to_string(columns));
  }
  for (const int j : rows_.free) {
    if (j < 0 || static_cast<std::size_t>(j) >= rows_.parameters.size()) {
      throw ValidationError("there is no parameter " + std::to_string(j) + ": the model has " +
                            std::to_string(rows_.parameters.size()));
    }
  }
}

double CallableRows::row_cost(Fill fill) const {
  return kCallCost * (fill == Fill::residual ? 1.0 : calls_per_row());
}

std::unique_ptr<TilePass> CallableRows::begin(std::span<const double> x, Fill fill, bool single) const {
  if (single) throw ValidationError("rows by calls of the user's code are evaluated in f64 only");
  return std::make_unique<CallablePass>(rows_, at(expanded(rows_.parameters, rows_.free, x)), tile_rows(),
                                        fill);
}

void CallableRows::reference_residuals(std::span<const double> x, std::size_t first, std::size_t count,
                                       double* residuals, double* magnitudes) const {
  const std::vector<double> p = expanded(rows_.parameters, rows_.free, x);
  const auto k = static_cast<std::size_t>(rows_.function.predictors);
  const std::size_t used = k + (rows_.weighted ? 2 : 1);
  std::vector<double> columns(used * count);
  for (std::size_t c = 0; c < used; ++c) {
    rows_.data->read(first, count, static_cast<int>(c), columns.data() + c * count);
  }
  std::vector<double> row(k + 1);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t c = 0; c < k; ++c) row[c] = columns[c * count + i];
    const double y = columns[k * count + i], w = rows_.weighted ? 1 / columns[(k + 1) * count + i] : 1.0;
    const double f = rows_.function.value(row.data(), p);
    residuals[i] = rows_.values ? f : (f - y) * w;
    magnitudes[i] = (std::fabs(f) + std::fabs(y)) * std::fabs(w);
  }
}

}  // namespace nlsq::inline v0
