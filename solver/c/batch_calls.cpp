// Implements fits of many data sets by one model.
#include "c/batch_starts.hpp"
#include "c/caller_options.hpp"
#include "c/errors.hpp"
#include "c/results/caller_result.hpp"
#include "fit/fit_setup.hpp"
#include "support/constants.hpp"
#include "support/fp_environment.hpp"

#include <nlsq/c/fit.h>
#include <nlsq/curve_fit_batch.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace nlsq::inline v0::c {

namespace {

// Makes Y one column for each fit, even if all fits share it.
ColumnPerFit spread(const ColumnPerFit& y, std::size_t fits) {
  if (!y.shared()) return y;
  return ColumnPerFit(std::vector<Column>(fits, y[0]));
}

BatchData batch_data(const nlsq_batch_column* x, std::size_t predictors, const nlsq_batch_column* y,
                     const nlsq_batch_column* sigma, const nlsq_batch_column* mask, std::size_t fits,
                     CallerColumns& columns) {
  if (fits == 0) throw ArgumentError("fits is 0: give data of at least one fit");
  if (predictors > 0) required(x, "x");
  BatchData data;
  data.fits = fits;
  for (std::size_t k = 0; k < predictors; ++k)
    data.x.push_back(columns.batch(x[k], mask, fits, fmt::format("x[{}]", k)));
  data.y = spread(columns.batch(*required(y, "y"), mask, fits, "y"), fits);
  if (sigma != nullptr) data.sigma = columns.batch(*sigma, mask, fits, "sigma");
  return data;
}

// Returns the errors of fits with too few rows: a line for each of the first few, and the number of further
// ones.
std::vector<std::string> fits_without_rows(const ColumnPerFit& y, std::size_t free) {
  constexpr std::size_t kLines = 5;
  std::vector<std::string> lines;
  std::size_t more = 0;
  for (std::size_t f = 0; f < y.size(); ++f) {
    if (y[f].size() >= free) continue;
    if (lines.size() == kLines) ++more;
    else lines.push_back(fmt::format("fit {}: {}", f, lack_of_rows(y[f].size(), free)));
  }
  if (more > 0) lines.push_back(fmt::format("{} more fits have too few rows", more));
  return lines;
}

// Returns a function that a batch calls between its parts. `done` is 0 at the start, which is not reported to
// the caller.
std::function<bool(std::size_t, std::size_t)> progress_of(const Options& options) {
  return [&](std::size_t done, std::size_t all) {
    if (options.stop_wanted()) return false;
    return done == 0 || options.progress == nullptr ||
           options.progress(done, all, kNaN, kNaN, options.user) == 0;
  };
}

nlsq_result* fit_batch(const CallerModel& model, const nlsq_batch_column* x, std::size_t predictors,
                       const nlsq_batch_column* y, const nlsq_batch_column* sigma,
                       const nlsq_batch_column* mask, std::size_t fits, const double* p0, std::size_t p0_fits,
                       const Options& options) {
  const FpEnvironment environment;
  if (model.is_callback())
    throw ArgumentError("a batch takes no callback, whose rows are its own: use a formula or a tape");
  if (model.recheck.function != nullptr)
    throw ArgumentError(
        "a batch has no recheck: make a model without it, and compare values by nlsq_model_evaluate");
  if (options.columns.contains("sigma")) throw ValidationError("sigma: give a batch its sigma in the call");
  CallerColumns columns;
  const FitOptions fit = options.curve_options(model.parameters, model.predictors.size(), columns);
  const BatchData data = batch_data(x, predictors, y, sigma, mask, fits, columns);
  const Ties ties(model.parameters, fit.ties, fit.fixed);
  const Limits limits = limits_of(fit.bounds, model.parameters, ties);
  const std::size_t free = free_parameters(model.parameters, fit.fixed, ties, limits).size();
  BatchStarts first = batch_starts(model, data, p0, p0_fits, fit, limits, ties, options.fixed_values(), free);
  BatchOptions batch(fit);
  batch.in_lanes = options.in_lanes;
  batch.callback = {};
  batch.sigma = {};
  batch.sigma_per_fit = data.sigma;
  batch.unstarted = first.unstarted;
  batch.progress = progress_of(options);
  auto result = std::make_shared<ManyResult>();
  result->warnings = fits_without_rows(data.y, free);
  if (!model.note.empty()) result->warnings.insert(result->warnings.begin(), model.note);
  result->batch = curve_fit_batch(*model.prepared, data.x, data.y, first.P0, batch);
  improve_poor_fits(
      model, data, first, batch, [&] { return options.stop_wanted(); }, result->batch);
  for (auto& [fit, text] : first.warnings) {
    if (!is_success(result->batch.verdict[fit])) continue;
    std::string& all = result->batch.warnings[fit];
    all = all.empty() ? std::move(text) : text + "; " + all;
  }
  for (const auto& [fit, text] : result->batch.warnings)
    result->warnings.push_back(fmt::format("fit {}: {}", fit, text));
  result->masked = mask != nullptr;
  return to_handle<nlsq_result>(std::move(result));
}

}  // namespace

}  // namespace nlsq::inline v0::c

using namespace nlsq::c;

extern "C" {

int nlsq_model_fit_batch(const nlsq_model* model, const nlsq_batch_column* x, size_t predictors,
                         const nlsq_batch_column* y, const nlsq_batch_column* sigma,
                         const nlsq_batch_column* mask, size_t fits, const double* p0, size_t p0_fits,
                         const nlsq_options* options, nlsq_result** result) {
  return output(result, "result", [&] {
    return fit_batch(*from_handle<CallerModel>(model), x, predictors, y, sigma, mask, fits, p0, p0_fits,
                     *options_of(options));
  });
}

int nlsq_curve_fit_batch(const char* model, const nlsq_batch_column* x, size_t predictors,
                         const nlsq_batch_column* y, size_t fits, const double* p0, size_t p0_fits,
                         const nlsq_options* options, nlsq_result** result) {
  return output(result, "result", [&] {
    const auto text = cached_model(required(model, "model"), predictors);
    return fit_batch(*text, x, predictors, y, nullptr, nullptr, fits, p0, p0_fits, *options_of(options));
  });
}

}  // extern "C"
