// Implements the functions of fit.h that evaluate a model: values and derivatives, guesses, predictions.
#include "c/caller_fit.hpp"
#include "c/errors.hpp"
#include "c/results/caller_result.hpp"
#include "expression/names.hpp"
#include "fit/prepared_impl.hpp"
#include "kernels/kernel_table.hpp"
#include "support/all_finite.hpp"
#include "support/fp_environment.hpp"
#include "support/parallel.hpp"

#include <nlsq/c/fit.h>
#include <nlsq/evaluate.hpp>
#include <nlsq/prediction.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>

namespace nlsq::inline v0::c {

namespace {

// Preparing a program costs more than it saves on so few rows.
constexpr std::size_t kFewRows = 256;
// More rows are evaluated in parts, several at a time.
constexpr std::size_t kPartRows = 16384;
// Starting threads costs more than it saves on fewer parts.
constexpr std::size_t kFewParts = 4;

// A function that gets the model's values of rows [first, first + count), or their differences from other
// values.
using TakeRows = std::function<void(std::size_t first, std::size_t count, const double* values)>;

// Computes values of a model in double if its columns are plain: by the tape or the formula itself, or by its
// program. Several threads may request parts at the same time.
class PlainValues {
 public:
  PlainValues(const CallerModel& model, const Columns& x, std::size_t rows, const std::vector<double>& p)
      : model_(model), rows_(rows), p_(p), columns_(x.size()) {
    usable_ = rows > 0 && x.size() > 0 && x.size() == model.predictors.size() && all_finite(p) &&
              model.prepared->impl().has_programs();
    for (std::size_t k = 0; k < x.size(); ++k) {
      const Column& column = x.list()[k];
      columns_[k] = column.size() == rows ? column.direct_f64(0) : nullptr;
      usable_ = usable_ && columns_[k] != nullptr;
    }
    const std::optional<Formula>& formula = model.prepared->impl().formula;
    usable_ = usable_ && !(formula && formula->has_left_side);  // its program computes residuals only
    if (!usable_ || rows <= kFewRows) return;
    const std::vector<int> all = all_parameters(p.size());
    programs_ = model.prepared->impl().programs(all, ResidualForm(false));
  }

  // Returns false if anything about the arguments is unusual. `evaluate` then handles them, or reports the
  // error.
  bool usable() const { return usable_; }
  bool finite(std::size_t first, std::size_t count) const {
    return std::ranges::all_of(columns_, [=](const double* c) { return all_finite({c + first, count}); });
  }

  // Calls work(first, count) for each part of the rows.
  void for_parts(Parallelism parallelism, const auto& work) const {
    const std::size_t parts = (rows_ + kPartRows - 1) / kPartRows;
    if (parts < kFewParts) parallelism.threads = 1;
    run_tasks(parts, parallelism, [&](std::size_t k) {
      const std::size_t first = k * kPartRows;
      work(first, std::min(kPartRows, rows_ - first));
    });
  }

  // Passes the values of rows [first, first + count), which are in one part, to `take`. `from` (of all rows)
  // is subtracted unless it is null.
  void give(std::size_t first, std::size_t count, const double* from, const TakeRows& take) const {
    if (programs_ == nullptr) return give_few(from, take);
    static const std::vector<double> zeros(kPartRows);
    std::vector<Column> columns;
    for (const double* column : columns_) columns.emplace_back(column + first, count);
    columns.emplace_back(from != nullptr ? from + first : zeros.data(), count);
    WorkerLease worker(model_.prepared->impl(), programs_);
    worker->set(columns, p_);
    GraphRows& rows = worker->rows;
    rows.prepare(p_, Fill::residual);
    const std::unique_ptr<TilePass> pass = rows.begin(p_, Fill::residual, false);
    KernelCounters counters;
    for (std::size_t t = 0; t < rows.tile_count(); ++t) {
      const TileRange tile = rows.tile(t);
      const double* const values = pass->fill_f64(tile.first, tile.count, counters)[rows.parameters()];
      take(first + tile.first, tile.count, values);
    }
  }

 private:
  // Does the same for all rows, if they are few.
  void give_few(const double* from, const TakeRows& take) const {
    std::array<double, kFewRows> values;
    model_.evaluate_rows(columns_, p_, rows_, {}, values.data());
    for (std::size_t i = 0; i < rows_ && from != nullptr; ++i) values[i] -= from[i];
    take(0, rows_, values.data());
  }

  const CallerModel& model_;
  std::size_t rows_;
  const std::vector<double>& p_;
  std::vector<const double*> columns_;
  std::shared_ptr<const CurvePrograms> programs_;  // null if there are few rows
  bool usable_ = true;
};

// Writes all values. Returns false, perhaps after some parts, if `evaluate` must be used instead.
bool evaluate_plain(const CallerModel& model, const Columns& x, std::size_t rows,
                    const std::vector<double>& p, const Parallelism& parallelism, double* out) {
  const FpEnvironment environment;
  const PlainValues plain(model, x, rows, p);
  if (!plain.usable()) return false;
  std::atomic<bool> finite{true};
  plain.for_parts(parallelism, [&](std::size_t first, std::size_t count) {
    if (!plain.finite(first, count)) finite = false;
    if (!finite) return;
    plain.give(first, count, nullptr, [out](std::size_t at, std::size_t some, const double* values) {
      std::copy_n(values, some, out + at);
    });
  });
  return finite;
}

}  // namespace

void evaluate_model(const CallerModel& model, const Columns& x, std::size_t rows,
                    const std::vector<double>& p, const Options& options, double* values, double* jacobian) {
  if (model.is_callback()) {
    if (jacobian != nullptr && !model.has_jacobian)
      throw ArgumentError(
          "jacobian: the callback gives no derivatives; use nlsq_model_differentiate, or pass NULL");
    return model.callback.call(p.data(), values, jacobian);
  }
  EvaluateOptions wanted;
  wanted.jacobian = jacobian != nullptr;
  wanted.threads = options.fit.threads;
  const bool plain = !options.precision && options.rules.empty() && jacobian == nullptr;
  if (plain && evaluate_plain(model, x, rows, p, wanted, values)) return;
  const std::optional<PrecisionPolicy> policy = options.solver_options().precision;
  const Evaluation at = evaluate(*model.prepared, x, p, policy.value_or(PrecisionPolicy::all_f64()), wanted);
  if (at.values.size() != rows)
    throw ArgumentError(fmt::format("values has {} entries, x has {} rows", rows, at.values.size()));
  std::copy(at.values.begin(), at.values.end(), values);
  if (jacobian != nullptr) std::copy_n(at.jacobian.data(), rows * p.size(), jacobian);
}

namespace {

// Sums the squares of the caller's values ("theirs"), and of the differences between our values and theirs.
// The rows are added in parts.
struct SquareSums {
  double differences = 0, theirs = 0;
  std::size_t count = 0;
  void add(const double* differing, const double* values, std::size_t rows) {
    constexpr std::size_t kWhole = 16;
    double unused = 0;
    const std::size_t whole = rows - rows % kWhole;  // the kernel reads whole vectors
    kernels().term_sums(values, values, whole, &theirs, &unused);
    kernels().term_sums(differing, differing, whole, &differences, &unused);
    for (std::size_t i = whole; i < rows; ++i) {
      theirs += values[i] * values[i];
      differences += differing[i] * differing[i];
    }
    count += rows;
  }
};

// Decides whether our values are close to the caller's. A difference is allowed up to relative * |theirs| +
// of_largest * (the largest finite |theirs| of all rows). It is also allowed if rounding explains it: where
// large terms cancel, their rounding errors may exceed that limit.
struct Closeness {
  double relative, of_largest;

  // This test is fast, because it needs two sums only. If it returns true, the values are close: it compares
  // the root of all squared differences, which no single difference exceeds, with the root mean square of the
  // values, which the largest value reaches at least. If it returns false, `holds` must decide.
  bool is_plain(const SquareSums& sums) const {
    constexpr double kLeast = 1e-200;  // below it, squares lose digits
    const bool all_finite = sums.theirs < std::numeric_limits<double>::infinity();
    return sums.theirs > kLeast && all_finite &&
           sums.differences <= of_largest * of_largest * sums.theirs / static_cast<double>(sums.count);
  }
  // This test is exact. NaN agrees with NaN, and an infinity agrees with the same infinity. `largest` is
  // largest_size() of all rows. `rounding(i)` returns how far rounding errors can move value i if each
  // operation is rounded by operation_rounding(). It is called only for a value whose difference exceeds the
  // other limit. If it returns more than 1000 * relative * largest, rounding has left nothing of the value,
  // and the test fails.
  bool holds(const double* ours, const double* theirs, std::size_t count, double largest,
             const std::function<double(std::size_t)>& rounding) const {
    constexpr double kMostRounding = 1000;
    const auto explained = [&](std::size_t i, double difference) {
      const double rounded = rounding(i);
      return difference <= rounded && rounded <= kMostRounding * relative * largest;
    };
    for (std::size_t i = 0; i < count; ++i) {
      const double allowed = relative * std::fabs(theirs[i]) + of_largest * largest;
      const double difference = std::fabs(ours[i] - theirs[i]);
      const bool finite = std::isfinite(ours[i]) && std::isfinite(theirs[i]);
      const bool same = ours[i] == theirs[i] || (std::isnan(ours[i]) && std::isnan(theirs[i]));
      if (!same && !(finite && (difference <= allowed || explained(i, difference)))) return false;
    }
    return true;
  }
  // Returns 2^-44 for an `of_largest` of 1e-12. It is larger than one rounding, because functions may be
  // wrong by some last digits, and terms may be many.
  double operation_rounding() const { return of_largest / 16; }
};

// Returns the largest |value| among the finite values, or 0 if there is none.
double largest_size(const double* values, std::size_t count) {
  double largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (std::isfinite(values[i])) largest = std::max(largest, std::fabs(values[i]));
  }
  return largest;
}

bool model_agrees(const CallerModel& model, const Columns& x, std::size_t rows, const std::vector<double>& p,
                  const double* values, Closeness closeness) {
  const auto holds = [&](const double* ours, std::size_t first, std::size_t count, double of) {
    return closeness.holds(ours, values + first, count, of, [&](std::size_t i) {
      return rounding_of(model, x, first + i, p, closeness.operation_rounding());
    });
  };
  std::atomic<bool> agrees{true}, usable{!model.is_callback()};
  std::atomic<double> largest{-1};  // not known yet
  if (usable) {
    const FpEnvironment environment;
    const PlainValues plain(model, x, rows, p);
    if (!plain.usable()) usable = false;
    plain.for_parts(EvaluateOptions(), [&](std::size_t first, std::size_t count) {
      if (!usable || !plain.finite(first, count)) usable = false;
      if (!usable || !agrees) return;
      SquareSums sums;
      plain.give(first, count, values, [&](std::size_t at, std::size_t some, const double* differences) {
        sums.add(differences, values + at, some);
      });
      if (closeness.is_plain(sums)) return;
      if (largest < 0) largest = largest_size(values, rows);
      plain.give(first, count, nullptr, [&](std::size_t at, std::size_t some, const double* ours) {
        if (agrees && !holds(ours, at, some, largest)) agrees = false;
      });
    });
  }
  if (usable) return agrees;
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
  const std::vector<double> guess = model.guess(x, y, Column(), Loss(), {}, warning);
  std::copy(guess.begin(), guess.end(), required(p0, "p0"));
}

nlsq_result* predict_call(const CallerModel& model, const nlsq_column* given_x, std::size_t predictors,
                          const CurveResult& of, const Options& options) {
  CallerColumns columns;
  const Columns x(columns.views(given_x, predictors, "x"));
  FitOptions fit = of.options;
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
  return output(prediction, "prediction", [&] {
    const auto object = from_handle<CallerModel>(model);
    if (object->is_callback())
      throw ArgumentError("predict: a callback has its own rows; use a formula or a tape");
    return predict_call(*object, x, predictors, *fit_of(fit, *object), *options_of(options));
  });
}

}  // extern "C"
