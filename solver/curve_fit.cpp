#include <nlsq/curve_fit.hpp>

#include "dense_evaluator.hpp"
#include "fit_setup.hpp"
#include "fit_statistics.hpp"
#include "fp_environment.hpp"
#include "solve.hpp"

#include <nlsq/fallback_rows.hpp>
#include <nlsq/residual_sources.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

using Clock = std::chrono::steady_clock;

// A fit with everything checked, whatever its model came as.
struct Curve {
  std::vector<std::string> names;
  std::vector<double> start;  // all parameters
  std::vector<int> free;
  std::shared_ptr<const RowSource> data;  // predictors, y, sigma
  int predictors = 1;
  bool weighted = false;
  const FitOptions& options;
  // The response of a block of rows, where it is not column y itself.
  std::function<double(std::span<const double> row)> response;
  Clock::time_point begin = Clock::now();  // after the data were checked

  std::vector<double> free_start() const {
    std::vector<double> x;
    for (const int j : free) x.push_back(start[static_cast<std::size_t>(j)]);
    return x;
  }
};

// Positions, among the free parameters, of those that enter linearly together.
std::vector<int> linear_among_free(const Graph& graph, NodeId root, const std::vector<int>& free) {
  std::vector<int> positions;
  for (const int j : linear_parameters(graph, root, free)) {
    positions.push_back(static_cast<int>(std::find(free.begin(), free.end(), j) - free.begin()));
  }
  std::sort(positions.begin(), positions.end());
  return positions;
}

double total_squares(const Curve& curve) {
  const auto columns = static_cast<std::size_t>(curve.data->columns());
  std::vector<double> block(columns * 1024), row(columns);
  return total_sum_of_squares(curve.data->rows(), [&](std::size_t first, std::size_t count, double* y, double* w) {
    const auto k = static_cast<std::size_t>(curve.predictors);
    curve.data->read(first, count, curve.predictors, y);
    if (curve.weighted) curve.data->read(first, count, curve.predictors + 1, w);
    for (std::size_t i = 0; i < count; ++i) w[i] = curve.weighted ? 1 / w[i] : 1;
    if (!curve.response) return;
    for (std::size_t c = 0; c < columns; ++c) curve.data->read(first, count, static_cast<int>(c), &block[c * count]);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t c = 0; c < columns; ++c) row[c] = block[c * count + i];
      y[i] = curve.response(std::span(row).first(k + 1));
    }
  });
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

FitResult fit_rows(const Curve& curve, RowModel& rows, const std::vector<int>& linear) {
  FitResult fit;
  fit.parameter_names = curve.names;
  fit.guess = fit.parameters = curve.start;
  fit.fixed.assign(curve.names.size(), true);
  for (const int j : curve.free) fit.fixed[static_cast<std::size_t>(j)] = false;
  fit.rows = curve.data->rows();

  const double setup = std::chrono::duration<double>(Clock::now() - curve.begin).count();
  const SolveRequest request{rows, curve.free_start(), linear, curve.options, curve.options.absolute_sigma};
  const MinimizerResult minimum = curve.free.empty() ? evaluate_only(rows) : solve(request);
  for (std::size_t j = 0; j < curve.free.size(); ++j) fit.parameters[static_cast<std::size_t>(curve.free[j])] = minimum.x[j];
  fit.summary = minimum.summary;
  fill_statistics(fit, minimum, curve.free, curve.options.absolute_sigma, total_squares(curve));
  fit.summary.time.setup = setup;
  fit.summary.time.total = std::chrono::duration<double>(Clock::now() - curve.begin).count();
  return fit;
}

std::vector<std::string> column_names(std::vector<std::string> predictors) {
  predictors.emplace_back("y");
  predictors.emplace_back("sigma");
  return predictors;
}

FitResult fit_formula(const Formula& formula, std::shared_ptr<const RowSource> data, bool weighted, std::vector<double> start,
                      const FitOptions& options) {
  const int predictors = static_cast<int>(formula.predictors.size());
  Curve curve{formula.parameters, std::move(start), free_parameters(formula.parameters, options.fixed), std::move(data),
              predictors, weighted, options, {}, Clock::now()};
  check_counts(curve.data->rows(), curve.free.size());
  if (formula.has_left_side) {
    curve.response = [&formula](std::span<const double> row) {
      return formula.evaluate_response(row.first(formula.predictors.size()), row[formula.predictors.size()]);
    };
  }
  const std::vector<int> linear = linear_among_free(formula.graph, formula.model, curve.free);
  GraphRows rows(std::make_shared<FormulaResidual>(formula, weighted), curve.data, curve.start, curve.free);
  return fit_rows(curve, rows, linear);
}

std::unique_ptr<RowModel> fallback_rows(const ModelFunction& function, const Curve& curve) {
  if (function.dual) {
    return std::make_unique<DualRows>(function, curve.data, curve.weighted, curve.start, curve.free);
  }
  return std::make_unique<DifferenceRows>(function, curve.data, curve.weighted, curve.start, curve.free);
}

FitResult fit_fallback(const ModelFunction& function, const Curve& curve, const std::string& note) {
  const std::unique_ptr<RowModel> rows = fallback_rows(function, curve);
  FitResult fit = fit_rows(curve, *rows, {});
  fit.summary.evaluator_note = note;
  return fit;
}

// Records the callable at rows spread over the data, so that most branches are known before the first pass.
bool record(RecordedResidual& residual, const Curve& curve) {
  constexpr std::size_t kRows = 16;
  const std::size_t m = curve.data->rows();
  std::vector<double> row(static_cast<std::size_t>(curve.data->columns()));
  bool any = false;
  for (std::size_t k = 0; k < std::min(kRows, m); ++k) {
    const std::size_t i = m <= kRows ? k : k * (m - 1) / (kRows - 1);
    for (int c = 0; c < curve.data->columns(); ++c) curve.data->read(i, 1, c, &row[static_cast<std::size_t>(c)]);
    any = residual.explore(row, curve.start) || any;
    if (!residual.reason().empty()) return false;
  }
  return any;
}

FitResult fit_callable(const ModelFunction& function, std::shared_ptr<const RowSource> data, bool weighted,
                       const std::vector<double>& p0, const FitOptions& options) {
  std::vector<std::string> names = options.parameter_names;
  for (std::size_t j = names.size(); j < p0.size(); ++j) names.push_back(fmt::format("p{}", j));
  if (names.size() != p0.size()) {
    throw ValidationError(fmt::format("{} parameter names were given for {} starting values", names.size(), p0.size()));
  }
  NamedValues given;
  for (std::size_t j = 0; j < p0.size(); ++j) given.emplace_back(names[j], p0[j]);
  Curve curve{names, starting_values(names, given, p0), free_parameters(names, options.fixed), std::move(data),
              function.predictors, weighted, options, {}, Clock::now()};
  check_counts(curve.data->rows(), curve.free.size());
  if (!function.trace) {
    return fit_fallback(function, curve, function.dual ? "the callable asked not to be recorded" : "the callable takes double alone");
  }
  const auto residual = std::make_shared<RecordedResidual>(function, static_cast<int>(p0.size()), weighted);
  std::string note;
  try {
    if (record(*residual, curve)) {
      Graph graph;
      const NodeId model = residual->build_model(graph);
      GraphRows rows(residual, curve.data, curve.start, curve.free);
      FitResult fit = fit_rows(curve, rows, linear_among_free(graph, model, curve.free));
      if (fit.summary.certificate.recheck_passed || fit.summary.termination == Termination::failure) return fit;
      note = "the recording disagreed with the callable re-evaluated in double and was discarded";
    } else {
      note = "the callable could not be recorded: " + residual->reason();
    }
  } catch (const RecordingFailed& failed) {
    note = std::string(failed.what()) + (residual->reason().empty() ? "" : ": " + residual->reason());
  }
  return fit_fallback(function, curve, note);
}

FormulaOptions predictor_options(std::size_t predictors) {
  FormulaOptions options;
  if (predictors != 1) {
    options.predictors.clear();
    for (std::size_t k = 1; k <= predictors; ++k) options.predictors.push_back(fmt::format("x{}", k));
  }
  return options;
}

}  // namespace

FitResult curve_fit(const Formula& formula, const Columns& x, const Column& y, const NamedValues& p0, const FitOptions& options) {
  const FpEnvironment environment;
  check_options(options);
  bool weighted = false;
  auto data = checked_rows(x, y, options.sigma, formula.predictors, weighted);
  std::vector<double> start = starting_values(formula.parameters, p0, std::vector<double>(formula.parameters.size(), 1.0));
  return fit_formula(formula, std::move(data), weighted, std::move(start), options);
}

FitResult curve_fit(std::string_view formula, const Columns& x, const Column& y, const NamedValues& p0, const FitOptions& options) {
  const FpEnvironment environment;  // of the numbers in the formula, too
  return curve_fit(parse_formula(formula, predictor_options(x.size())), x, y, p0, options);
}

FitResult curve_fit(const Model& model, const Columns& x, const Column& y, const NamedValues& p0, const FitOptions& options) {
  const FpEnvironment environment;
  check_options(options);
  const Formula formula = parse_formula(model.formula, predictor_options(static_cast<std::size_t>(model.predictors)));
  bool weighted = false;
  auto data = checked_rows(x, y, options.sigma, formula.predictors, weighted);
  std::vector<double> start(formula.parameters.size(), 1.0);
  std::string warning;
  if (p0.size() < formula.parameters.size()) {
    std::vector<std::vector<double>> columns;
    for (const Column& column : x.list()) {
      columns.emplace_back(column.size());
      column.read(0, column.size(), columns.back().data());
    }
    std::vector<double> response(y.size());
    y.read(0, y.size(), response.data());
    const std::vector<std::span<const double>> views(columns.begin(), columns.end());
    Guess guess = model.guess(views, response);
    start = std::move(guess.values);
    warning = std::move(guess.warning);
  }
  FitResult fit = fit_formula(formula, std::move(data), weighted, starting_values(formula.parameters, p0, start), options);
  if (!warning.empty()) fit.warnings.insert(fit.warnings.begin(), warning);
  return fit;
}

FitResult curve_fit(const ModelFunction& model, const Columns& x, const Column& y, const std::vector<double>& p0,
                    const FitOptions& options) {
  const FpEnvironment environment;
  check_options(options);
  bool weighted = false;
  auto data = checked_rows(x, y, options.sigma, predictor_options(static_cast<std::size_t>(model.predictors)).predictors, weighted);
  return fit_callable(model, std::move(data), weighted, p0, options);
}

FitResult curve_fit(const ModelFunction& model, std::shared_ptr<const RowSource> rows, const std::vector<double>& p0,
                    const FitOptions& options) {
  const FpEnvironment environment;
  check_options(options);
  const bool weighted = rows->columns() == model.predictors + 2;
  check_rows(*rows, column_names(predictor_options(static_cast<std::size_t>(model.predictors)).predictors), weighted);
  return fit_callable(model, std::move(rows), weighted, p0, options);
}

FitResult curve_fit(const Formula& formula, std::shared_ptr<const RowSource> rows, const NamedValues& p0, const FitOptions& options) {
  const FpEnvironment environment;
  check_options(options);
  const bool weighted = rows->columns() == static_cast<int>(formula.predictors.size()) + 2;
  check_rows(*rows, column_names(formula.predictors), weighted);
  std::vector<double> start = starting_values(formula.parameters, p0, std::vector<double>(formula.parameters.size(), 1.0));
  return fit_formula(formula, std::move(rows), weighted, std::move(start), options);
}

}  // namespace nlsq::inline v0
