// The functions of fit.h that evaluate a model: values and derivatives, guesses, predictions.
#include "c/caller_fit.hpp"
#include "c/closeness.hpp"
#include "c/errors.hpp"
#include "c/results/caller_result.hpp"
#include "dense/data_survey.hpp"
#include "fit/prepared_impl.hpp"
#include "program/local_buffer.hpp"
#include "support/fp_environment.hpp"
#include "support/parallel.hpp"

#include <nlsq/c/fit.h>
#include <nlsq/evaluate.hpp>
#include <nlsq/prediction.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>

namespace nlsq::inline v0::c {

namespace {

// Preparing a program costs more than it saves on so few rows.
constexpr std::size_t kFewRows = 256;
// More rows are evaluated in parts that stay in the cache.
constexpr std::size_t kPartRows = 8192;
// Starting threads costs more than it saves on fewer parts.
constexpr std::size_t kFewParts = 8;

// A function that writes the model's values of one part of the rows, minus `from` unless that is null.
// evaluate_plain passes it to a TakePart.
using PartValues = std::function<void(double* values, const double* from)>;
// A function that evaluate_plain calls once for each part, rows [first, first + count), from several threads
// at a time. It calls `write` to get the values.
using TakePart = std::function<void(std::size_t first, std::size_t count, const PartValues& write)>;

// Values of rows [first, first + count) by the model's program, which computes residuals from `from`. Those
// from zero are values.
void evaluate_part(const PreparedModel::Impl& model, const std::shared_ptr<const CurvePrograms>& programs,
                   const std::vector<const double*>& x, const std::vector<double>& p, std::size_t first,
                   std::size_t count, double* values, const double* from) {
  static const std::vector<double> zeros(kPartRows);
  std::vector<Column> columns;
  for (const double* column : x) columns.emplace_back(column + first, count);
  columns.emplace_back(from != nullptr ? from : zeros.data(), count);
  WorkerLease worker(model, programs);
  worker->set(columns, p);
  GraphRows& rows = worker->rows;
  rows.prepare(p, Fill::residual);
  const std::unique_ptr<TilePass> pass = rows.begin(p, Fill::residual, false);
  KernelCounters counters;
  for (std::size_t t = 0; t < rows.tile_count(); ++t) {
    const TileRange tile = rows.tile(t);
    const double* const residuals = pass->fill_f64(tile.first, tile.count, counters)[rows.parameters()];
    std::copy_n(residuals, tile.count, values + tile.first);
  }
}

// Values in double where the columns are plain, in parts: by the tape or the formula itself, or by its
// program. Returns false if anything about the arguments is unusual, perhaps after some parts: `evaluate`
// then takes them, or says what is wrong.
bool evaluate_plain(const CallerModel& model, const Columns& x, std::size_t rows,
                    const std::vector<double>& p, const Parallelism& parallelism, const TakePart& take) {
  if (rows == 0 || x.size() != model.predictors.size() || x.size() == 0) return false;
  std::vector<const double*> columns;
  for (const Column& column : x.list()) {
    columns.push_back(column.size() == rows ? column.direct_f64(0) : nullptr);
    if (columns.back() == nullptr) return false;
  }
  const auto usable = [&](std::size_t first, std::size_t count) {
    return std::ranges::all_of(columns,
                               [=](const double* c) { return all_usable(c + first, count, Wanted::any); });
  };
  if (!all_usable(p.data(), p.size(), Wanted::any)) return false;
  const std::optional<Formula>& formula = model.prepared->impl().formula;
  if (formula && formula->has_left_side) return false;  // its program has residuals alone
  const FpEnvironment environment;
  if (rows <= kFewRows) {
    if (!usable(0, rows)) return false;
    take(0, rows, [&](double* values, const double* from) {
      model.evaluate_rows(columns, p, rows, {}, values);
      for (std::size_t i = 0; i < rows && from != nullptr; ++i) values[i] -= from[i];
    });
    return true;
  }
  const std::size_t parts = (rows + kPartRows - 1) / kPartRows;
  std::vector<int> all(p.size());
  std::iota(all.begin(), all.end(), 0);
  const PreparedModel::Impl& prepared = model.prepared->impl();
  const auto programs = prepared.programs(all, ResidualForm(false));
  Parallelism alone = parallelism;
  alone.threads = 1;
  std::atomic<bool> all_parts{true};
  run_tasks(parts, parts < kFewParts ? alone : parallelism, [&](std::size_t k) {
    const std::size_t first = k * kPartRows, count = std::min(kPartRows, rows - first);
    if (!usable(first, count)) all_parts = false;
    if (!all_parts) return;
    take(first, count, [&](double* values, const double* from) {
      evaluate_part(prepared, programs, columns, p, first, count, values, from);
    });
  });
  return all_parts;
}

}  // namespace

void evaluate_model(const CallerModel& model, const Columns& x, std::size_t rows,
                    const std::vector<double>& p, const Options& options, double* values, double* jacobian) {
  if (model.is_callback()) {
    if (jacobian != nullptr && !model.has_jacobian)
      throw ArgumentError(
          "jacobian: the callback gives no derivatives; evaluate it by differences, or pass NULL");
    return model.callback.call(p.data(), values, jacobian);
  }
  EvaluateOptions wanted;
  wanted.jacobian = jacobian != nullptr;
  wanted.threads = options.fit.threads;
  const bool plain = !options.precision && options.rules.empty() && jacobian == nullptr;
  const auto write = [values](std::size_t first, std::size_t, const PartValues& part) {
    part(values + first, nullptr);
  };
  if (plain && evaluate_plain(model, x, rows, p, wanted, write)) return;
  const std::optional<PrecisionPolicy> policy = options.solver_options().precision;
  const Evaluation at = evaluate(*model.prepared, x, p, policy.value_or(PrecisionPolicy::all_f64()), wanted);
  if (at.values.size() != rows)
    throw ArgumentError(fmt::format("values has {} entries, x has {} rows", rows, at.values.size()));
  std::copy(at.values.begin(), at.values.end(), values);
  if (jacobian != nullptr) std::copy_n(at.jacobian.data(), rows * p.size(), jacobian);
}

namespace {

bool model_agrees(const CallerModel& model, const Columns& x, std::size_t rows, const std::vector<double>& p,
                  const double* values, Closeness closeness) {
  const auto holds = [&](const double* ours, std::size_t first, std::size_t count, double of) {
    return closeness.holds(ours, values + first, count, of, [&](std::size_t i) {
      return rounding_of(model, x, first + i, p, closeness.operation_rounding());
    });
  };
  std::atomic<bool> agrees{true};
  std::atomic<double> largest{-1};  // not known yet
  const auto compare = [&](std::size_t first, std::size_t count, const PartValues& write) {
    if (!agrees) return;
    LocalBuffer<double, kFewRows> ours(count);
    write(ours.data(), values + first);
    if (closeness.is_plain(ours.data(), values + first, count)) return;
    write(ours.data(), nullptr);
    if (largest < 0) largest = largest_size(values, rows);
    if (!holds(ours.data(), first, count, largest)) agrees = false;
  };
  if (!model.is_callback() && evaluate_plain(model, x, rows, p, EvaluateOptions(), compare)) return agrees;
  std::vector<double> ours(rows);
  evaluate_model(model, x, rows, p, Options(), ours.data(), nullptr);
  return holds(ours.data(), 0, rows, largest_size(values, rows));
}

void guess_call(const CallerModel& model, const nlsq_column* given_x, std::size_t predictors,
                const nlsq_column* given_y, double* p0) {
  const FpEnvironment environment;
  CallerColumns columns;
  const Columns x(columns.views(given_x, predictors, "x"));
  const Column y = columns.view(*required(given_y, "y"), "y");
  std::string warning;
  const std::vector<double> guess = model.guess(x, y, Column(), Loss(), warning);
  std::copy(guess.begin(), guess.end(), required(p0, "p0"));
}

nlsq_result* predict_call(const CallerModel& model, const nlsq_column* given_x, std::size_t predictors,
                          const CurveResult& of, const Options& options) {
  if (model.is_callback())
    throw ArgumentError("predict: a callback has its own rows; use a formula or a tape");
  if (of.formula != model.formula || of.fit.parameter_names != model.parameters) {
    throw ArgumentError(
        fmt::format("fit: it is a result of the model '{}' ({}), and this model is '{}' ({}): give the model "
                    "that was fitted",
                    of.formula, fmt::join(of.fit.parameter_names, ", "), model.formula,
                    fmt::join(model.parameters, ", ")));
  }
  CallerColumns columns;
  const Columns x(columns.views(given_x, predictors, "x"));
  FitOptions fit = of.options;
  fit.absolute_sigma = of.absolute_sigma;
  if (!of.sigmas.empty()) fit.sigma = Column(of.sigmas);
  PredictionOptions wanted;
  wanted.confidence = options.confidence;
  wanted.threads = options.fit.threads;
  const auto sigma = options.columns.find("sigma");
  if (sigma != options.columns.end()) wanted.sigma = columns.view(sigma->second, "sigma");
  auto result = std::make_shared<PredictionResult>();
  result->prediction = predict(*model.prepared, x, of.fit, fit, wanted);
  return to_handle<nlsq_result>(std::move(result));
}

std::shared_ptr<const CurveResult> curve_result(const nlsq_result* handle) {
  auto curve = std::dynamic_pointer_cast<const CurveResult>(from_handle<Result>(handle));
  if (!curve) throw ArgumentError("fit: a prediction is made from the result of a curve fit");
  return curve;
}

// Opens the arguments that nlsq_model_evaluate and nlsq_model_agrees share, and calls `use` with the model,
// its columns x and its parameters p. Returns the status of the call.
int at_point(const nlsq_model* model, const nlsq_column* x, std::size_t predictors, const double* p,
             const double* values, const auto& use) {
  return guarded([&] {
    const auto object = from_handle<CallerModel>(model);
    CallerColumns columns;
    required(p, "p");
    required(values, "values");
    use(*object, Columns(columns.views(x, predictors, "x")),
        std::vector<double>(p, p + object->parameters.size()));
  });
}

}  // namespace

}  // namespace nlsq::inline v0::c

using namespace nlsq::c;

extern "C" {

int nlsq_model_guess(const nlsq_model* model, const nlsq_column* x, size_t predictors, const nlsq_column* y,
                     double* p0) {
  return guarded([&] { guess_call(*from_handle<CallerModel>(model), x, predictors, y, p0); });
}

int nlsq_model_evaluate(const nlsq_model* model, const nlsq_column* x, size_t predictors, size_t rows,
                        const double* p, const nlsq_options* options, double* values, double* jacobian) {
  return at_point(
      model, x, predictors, p, values,
      [&](const CallerModel& object, const nlsq::Columns& columns, const std::vector<double>& point) {
        evaluate_model(object, columns, rows, point, *options_of(options), values, jacobian);
      });
}

int nlsq_model_agrees(const nlsq_model* model, const nlsq_column* x, size_t predictors, size_t rows,
                      const double* p, const double* values, double relative, double of_largest,
                      int* agrees) {
  return at_point(
      model, x, predictors, p, values,
      [&](const CallerModel& object, const nlsq::Columns& columns, const std::vector<double>& point) {
        *required(agrees, "agrees") =
            model_agrees(object, columns, rows, point, values, {relative, of_largest});
      });
}

int nlsq_model_predict(const nlsq_model* model, const nlsq_column* x, size_t predictors,
                       const nlsq_result* fit, const nlsq_options* options, nlsq_result** prediction) {
  return guarded([&] {
    begin_output(prediction, "prediction");
    *prediction = predict_call(*from_handle<CallerModel>(model), x, predictors, *curve_result(fit),
                               *options_of(options));
  });
}

}  // extern "C"
