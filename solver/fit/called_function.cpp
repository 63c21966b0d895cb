// Fits functions that are not recorded: fallback_rows() and fit_fallback().
#include "dense/data_survey.hpp"
#include "fit/curve.hpp"
#include "rows/calls/fallback_rows.hpp"
#include "rows/calls/loss_rows.hpp"
#include "start/linear_by_trial.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

std::unique_ptr<RowModel> fallback_rows(const ModelFunction& function, std::shared_ptr<const RowSource> data,
                                        const ResidualForm& form, std::vector<double> start,
                                        std::vector<int> free, const Limits& limits,
                                        std::vector<double> sizes) {
  Vector lower, upper;  // of all parameters; fixed ones do not move
  if (!limits.empty()) lower = upper = start;
  for (std::size_t k = 0; k < limits.lower.size(); ++k) {
    lower[static_cast<std::size_t>(free[k])] = limits.lower[k];
    upper[static_cast<std::size_t>(free[k])] = limits.upper[k];
  }
  CurveRows curve{function, data, form.weighted, std::move(start), std::move(free), form.loss.is_counts()};
  std::unique_ptr<RowModel> rows;
  if (function.dual) rows = std::make_unique<DualRows>(std::move(curve));
  else
    rows = std::make_unique<DifferenceRows>(std::move(curve), std::move(sizes), std::move(lower),
                                            std::move(upper));
  if (form.loss.is_linear()) return rows;
  return std::make_unique<LossRows>(std::move(rows), form, CountColumn{std::move(data), function.predictors});
}

FitResult fit_fallback(const ModelFunction& function, Curve curve, const std::string& note) {
  if (!curve.form.x_errors.empty()) {
    throw ValidationError(
        fmt::format("sigma_x needs the model's derivatives by x, and {}: write it generic in the scalars of "
                    "x and p, or as a formula",
                    note));
  }
  curve.is_even = {};
  curve.linear_by_trial = true;
  curve.survey->run();  // a callable must not be called with non-finite numbers
  curve.rows_of = [&](const ResidualForm& form) {
    return fallback_rows(function, curve.data, form, curve.start, curve.free, curve.limits);
  };
  const std::shared_ptr<RowModel> rows = curve.rows_of(curve.form);
  FitResult fit = fit_rows(curve, *rows, linear_by_trial(curve, *rows).positions);
  fit.summary.evaluator_note = note;
  return fit;
}

}  // namespace nlsq::inline v0
