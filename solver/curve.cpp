#include "curve.hpp"

#include "dense_evaluator.hpp"

#include <nlsq/fallback_rows.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace nlsq::inline v0 {

namespace {

using Clock = std::chrono::steady_clock;

// About the mean of what is fitted: column y, or what a formula's left side makes of it.
double total_squares(const Curve& curve) {
  if (!curve.response) return curve.survey->total_squares();
  const RowSource& data = *curve.data;
  const auto columns = static_cast<std::size_t>(data.columns()), k = static_cast<std::size_t>(curve.predictors);
  std::vector<double> block(columns * ScatterSums::most), row(columns), y(ScatterSums::most);
  std::optional<ScatterSums> sums;
  for (std::size_t first = 0; first < data.rows(); first += ScatterSums::most) {
    const std::size_t count = std::min(ScatterSums::most, data.rows() - first);
    for (std::size_t c = 0; c < columns; ++c) data.read(first, count, static_cast<int>(c), &block[c * count]);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t c = 0; c < columns; ++c) row[c] = block[c * count + i];
      y[i] = curve.response(std::span(row).first(k + 1));
    }
    if (!sums) sums.emplace(y[0]);
    sums->add(y.data(), curve.weighted ? &block[(k + 1) * count] : nullptr, count);
  }
  return sums->total();
}

// Nothing to fit: every parameter is fixed. The cost is evaluated and that is all.
MinimizerResult evaluate_only(RowModel& rows) {
  DenseEvaluator evaluator(rows);
  MinimizerResult out;
  const double cost = evaluator.cost({}, Format::f64).cost;
  Summary& s = out.summary;
  s.kernel = kernels().name;
  s.evaluator = rows.kind();
  s.precision.counters = evaluator.counters();
  s.initial_cost = s.final_cost = s.certificate.cost = cost;
  if (!std::isfinite(cost)) {
    s.message = "every parameter is fixed, and the residuals are not finite";
    return out;
  }
  s.certificate.passed = s.certificate.recheck_passed = true;
  s.certificate.governed_by = "no free parameter";
  s.termination = Termination::converged;
  s.verdict = s.certificate.verdict = Verdict::converged;
  s.message = "every parameter is fixed: the cost was evaluated";
  return out;
}

}  // namespace

std::vector<int> linear_among_free(const Graph& graph, NodeId root, const std::vector<int>& free) {
  std::vector<int> positions;
  for (const int j : linear_parameters(graph, root, free)) {
    positions.push_back(static_cast<int>(std::find(free.begin(), free.end(), j) - free.begin()));
  }
  std::sort(positions.begin(), positions.end());
  return positions;
}

FitResult fit_rows(const Curve& curve, RowModel& rows, const std::vector<int>& linear, const SolveFunction& solve_rows) {
  FitResult fit;
  fit.parameter_names = curve.names;
  fit.guess = fit.parameters = curve.start;
  fit.fixed.assign(curve.names.size(), true);
  for (const int j : curve.free) fit.fixed[static_cast<std::size_t>(j)] = false;
  fit.rows = curve.data->rows();

  const double setup = std::chrono::duration<double>(Clock::now() - curve.begin).count();
  const SolveRequest request{rows, curve.free_start(), linear, curve.options, curve.options.absolute_sigma, curve.survey};
  MinimizerResult minimum = curve.free.empty() ? evaluate_only(rows) : solve_rows ? solve_rows(request) : solve(request);
  curve.survey->run();  // where no pass over all rows was made
  for (std::size_t j = 0; j < curve.free.size(); ++j) fit.parameters[static_cast<std::size_t>(curve.free[j])] = minimum.x[j];
  fill_statistics(fit, minimum, curve.free, curve.options.absolute_sigma, total_squares(curve));
  fit.summary = std::move(minimum.summary);
  fit.summary.time.setup = setup;
  fit.summary.time.total = std::chrono::duration<double>(Clock::now() - curve.begin).count();
  return fit;
}

std::unique_ptr<RowModel> fallback_rows(const ModelFunction& function, std::shared_ptr<const RowSource> data, bool weighted,
                                        std::vector<double> start, std::vector<int> free) {
  if (function.dual) return std::make_unique<DualRows>(function, std::move(data), weighted, std::move(start), std::move(free));
  return std::make_unique<DifferenceRows>(function, std::move(data), weighted, std::move(start), std::move(free));
}

FitResult fit_fallback(const ModelFunction& function, const Curve& curve, const std::string& note) {
  curve.survey->run();  // a callable is not called with numbers that are none
  const std::unique_ptr<RowModel> rows = fallback_rows(function, curve.data, curve.weighted, curve.start, curve.free);
  FitResult fit = fit_rows(curve, *rows, {});
  fit.summary.evaluator_note = note;
  return fit;
}

bool record(RecordedResidual& residual, const RowSource& data, const std::vector<double>& p, DataSurvey* survey) {
  constexpr std::size_t kRows = 16;
  const std::size_t m = data.rows();
  std::vector<double> row(static_cast<std::size_t>(data.columns()));
  bool any = false;
  for (std::size_t k = 0; k < std::min(kRows, m); ++k) {
    const std::size_t i = m <= kRows ? k : k * (m - 1) / (kRows - 1);
    for (int c = 0; c < data.columns(); ++c) data.read(i, 1, c, &row[static_cast<std::size_t>(c)]);
    if (survey != nullptr && !std::ranges::all_of(row, [](double v) { return std::isfinite(v); })) survey->run();
    any = residual.explore(row, p) || any;
    if (!residual.reason().empty()) return false;
  }
  return any;
}

FormulaOptions predictor_options(std::size_t predictors) {
  FormulaOptions options;
  if (predictors != 1) {
    options.predictors.clear();
    for (std::size_t k = 1; k <= predictors; ++k) options.predictors.push_back(fmt::format("x{}", k));
  }
  return options;
}

std::vector<double> guessed_start(const Model& model, const Columns& x, const Column& y, std::string& warning) {
  std::vector<std::vector<double>> copies(x.list().size() + 1);  // of what is not there as doubles already
  const auto view = [&](const Column& column, std::vector<double>& copy) -> std::span<const double> {
    if (const double* direct = column.empty() ? nullptr : column.direct_f64(0)) return {direct, column.size()};
    copy.resize(column.size());
    column.read(0, column.size(), copy.data());
    return copy;
  };
  std::vector<std::span<const double>> views;
  for (const Column& column : x.list()) views.push_back(view(column, copies[views.size()]));
  Guess guess = model.guess(views, view(y, copies.back()));
  warning = std::move(guess.warning);
  return std::move(guess.values);
}

}  // namespace nlsq::inline v0
