// Implements evaluate(): one evaluation of a model, tile by tile in the policy's formats. Tiles that overflow
// are evaluated again in f64.
#include <nlsq/evaluate.hpp>

#include "dense/dense_evaluator.hpp"
#include "dense/tile_issues.hpp"
#include "expression/names.hpp"
#include "fit/curve.hpp"
#include "fit/fit_setup.hpp"
#include "fit/prepared_impl.hpp"
#include "support/all_finite.hpp"
#include "support/fp_environment.hpp"
#include "support/parallel.hpp"

#include "convert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kTilesPerTask = 16;
constexpr double kThreadWork = 1e6;  // f64 adds: threads do not pay for smaller tasks
constexpr int kMaxRecordings = 64;   // evaluations repeated because a row took a new branch

// Evaluates the tiles of one task into rows of the result that no other task writes.
class TileWriter {
 public:
  TileWriter(const RowModel& model, std::span<const double> x, Fill fill, const PartFormats& formats,
             Evaluation& out)
      : model_(model), x_(x), fill_(fill), formats_(formats), out_(out),
        n_(fill == Fill::residual ? 0 : static_cast<std::size_t>(model.parameters())),
        tile_((n_ + 1) * model.tile_rows()) {}

  void write(const TileRange& range) {
    const std::size_t stride = model_.tile_rows();
    if (n_ == 0 && formats_.residual == Format::f64) return write_values(range);
    if (formats_.residual == Format::f64) {
      copy(high().fill_f64(range.first, range.count, counters), range.count);
      if (formats_.jacobian < Format::f64) narrow(range);
    } else {
      if (!low_) low_ = model_.begin(x_, fill_, true);
      const float* const* columns = low_->fill_f32(range.first, range.count, counters);
      add_issue(issues,
                issues_of(columns + first_column(), n_ + 1, range.count, Operation::evaluate, Format::f32));
      copy(columns, range.count);
      if (tile_is_finite(range.count) && formats_.jacobian < Format::f32) narrow(range);
    }
    if (!tile_is_finite(range.count)) {
      if (formats_.residual == Format::f32 || formats_.jacobian < Format::f64) {
        redone.push_back(range);
        copy(high().fill_f64(range.first, range.count, counters), range.count);
      }
      if (!tile_is_finite(range.count) && !nonfinite) nonfinite = range;
    }
    for (std::size_t i = 0; i < range.count; ++i) {
      out_.values[range.first + i] = tile_[n_ * stride + i];
      for (std::size_t j = 0; j < n_; ++j) out_.jacobian(range.first + i, j) = tile_[j * stride + i];
    }
  }

  KernelCounters counters;
  std::vector<PrecisionIssue> issues;
  std::vector<TileRange> redone;
  std::optional<TileRange> nonfinite;  // first tile that is not finite in f64

 private:
  std::size_t first_column() const { return static_cast<std::size_t>(model_.parameters()) - n_; }
  TilePass& high() {
    if (!high_) high_ = model_.begin(x_, fill_, false);
    return *high_;
  }

  // Writes the values alone, in f64. Nothing is rounded or evaluated again.
  void write_values(const TileRange& range) {
    const double* values = high().fill_f64(range.first, range.count, counters)[first_column()];
    std::copy_n(values, range.count, &out_.values[range.first]);
    if (!nonfinite && !all_finite({values, range.count})) nonfinite = range;
  }

  template <class T>
  void copy(T* const* columns, std::size_t count) {
    for (std::size_t j = 0; j <= n_; ++j) {
      const T* from = columns[first_column() + j];
      std::transform(from, from + count, &tile_[j * model_.tile_rows()],
                     [](T v) { return static_cast<double>(v); });
    }
  }

  bool tile_is_finite(std::size_t count) const {
    for (std::size_t j = 0; j <= n_; ++j) {
      if (!all_finite({&tile_[j * model_.tile_rows()], count})) return false;
    }
    return true;
  }

  // Rounds J as the Gram product reads it. Residuals do not change.
  void narrow(const TileRange& range) {
    for (std::size_t j = 0; j < n_; ++j) {
      const std::span<double> column(&tile_[j * model_.tile_rows()], range.count);
      if (!all_finite(column)) continue;
      if (formats_.jacobian == Format::f32) {
        for (double& v : column) v = static_cast<double>(static_cast<float>(v));
      } else if (formats_.jacobian == Format::bf16) {
        round_to(Format::bf16, column);
        for (double& v : column) v = std::fabs(v) < 0x1p-126 ? std::copysign(0.0, v) : v;
      } else {
        round_scaled_to(Format::f16, column);
      }
    }
    std::vector<const double*> columns;
    for (std::size_t j = 0; j < n_; ++j) columns.push_back(&tile_[j * model_.tile_rows()]);
    // f16 values are scaled, so the limit of f16 does not apply to them.
    const Format limit = formats_.jacobian == Format::f16 ? Format::f64 : formats_.jacobian;
    PrecisionIssue issue = issues_of(columns.data(), n_, range.count, Operation::jacobian_storage, limit);
    issue.format = formats_.jacobian;
    add_issue(issues, issue);
  }

  const RowModel& model_;
  std::span<const double> x_;
  Fill fill_;
  PartFormats formats_;
  Evaluation& out_;
  std::size_t n_;  // columns of J
  std::vector<double> tile_;
  std::unique_ptr<TilePass> low_, high_;
};

// Evaluates all tiles once. Returns the first tile that is not finite in f64, if any.
std::optional<TileRange> evaluate_tiles(const RowModel& model, std::span<const double> x,
                                        const PartFormats& formats, const EvaluateOptions& options,
                                        Evaluation& out) {
  const Fill fill = options.jacobian ? Fill::jacobian_and_residual : Fill::residual;
  const std::size_t tiles = model.tile_count(), tasks = (tiles + kTilesPerTask - 1) / kTilesPerTask;
  const bool alone =
      !model.concurrent() || static_cast<double>(model.rows()) * model.row_cost(fill) < kThreadWork;
  model.prepare(x, fill);
  std::vector<std::unique_ptr<TileWriter>> writers(tasks);
  run_tasks(tasks, alone ? Parallelism{1, {}} : Parallelism(options), [&](std::size_t t) {
    writers[t] = std::make_unique<TileWriter>(model, x, fill, formats, out);
    const std::size_t end = std::min(tiles, (t + 1) * kTilesPerTask);
    for (std::size_t k = t * kTilesPerTask; k < end; ++k) writers[t]->write(model.tile(k));
  });
  out.redone.clear();
  out.issues.clear();
  std::optional<TileRange> nonfinite;
  for (const auto& writer : writers) {
    out.counters.add(writer->counters);
    for (const PrecisionIssue& issue : writer->issues) add_issue(out.issues, issue);
    out.redone.insert(out.redone.end(), writer->redone.begin(), writer->redone.end());
    if (!nonfinite) nonfinite = writer->nonfinite;
  }
  return nonfinite;
}

void note_nonfinite(const TileRange& tile, Evaluation& out) {
  out.finite = false;
  for (std::size_t i = tile.first; i < tile.first + tile.count; ++i) {
    bool row = std::isfinite(out.values[i]);
    for (std::size_t j = 0; j < out.jacobian.columns(); ++j) row = row && std::isfinite(out.jacobian(i, j));
    if (row) continue;
    out.nonfinite_row = i;
    return;
  }
}

Evaluation evaluate_rows(RowModel& model, std::span<const double> x, const PrecisionPolicy& policy,
                         const EvaluateOptions& options) {
  const Fill fill = options.jacobian ? Fill::jacobian_and_residual : Fill::residual;
  Evaluation out;
  out.values.resize(model.rows());
  if (options.jacobian) out.jacobian.assign(model.rows(), x.size());
  const double work = static_cast<double>(model.rows()) * model.row_cost(fill);
  out.formats = formats_of(
      initial_plan(policy, {work, model.parameters(), model.has_f32(), kernels().multiplies_bf16()}));
  out.policy = policy.to_string();
  out.kernel = kernels().name;
  out.evaluator = model.kind();
  for (int round = 0; round < kMaxRecordings; ++round) {
    const auto nonfinite = evaluate_tiles(model, x, out.formats, options, out);
    if (!nonfinite) return out;
    const auto why = model.explain_non_finite(x, nonfinite->first, nonfinite->count);
    if (why == RowModel::NonFinite::give_up)
      throw RecordingFailed("a row took a branch that could not be recorded");
    if (why == RowModel::NonFinite::retry) continue;
    note_nonfinite(*nonfinite, out);
    return out;
  }
  throw RecordingFailed("rows kept taking branches that were not recorded");
}

// Returns rows of the predictors, y (zeros if not given: f - 0 is f) and sigma.
std::shared_ptr<const RowSource> rows_of(const PreparedModel::Impl& model, const Columns& x,
                                         const EvaluateOptions& options, bool& weighted) {
  static constexpr double kZero = 0;
  static const std::vector<double> zeros(8192);  // contiguous numbers are read without a copy
  if (!options.sigma.empty() && options.y.empty())
    throw ValidationError("sigma divides residuals, and without y there are none: give y, too");
  const std::size_t rows = x.size() == 0 ? 0 : x.list().front().size();
  const Column zero = rows <= zeros.size() ? Column(zeros.data(), rows) : Column(&kZero, rows, 0);
  FitOptions weights;
  weights.sigma = options.sigma;
  SurveyedRows data = surveyed_rows(x, options.y.empty() ? zero : options.y, weights, model.predictors);
  data.survey->run();
  weighted = data.form.weighted;
  return std::move(data.rows);
}

std::unique_ptr<GraphRows> program_rows(const PreparedModel::Impl& model,
                                        const std::shared_ptr<const RowSource>& data, bool weighted,
                                        const std::vector<double>& p, const std::vector<int>& all,
                                        bool residuals) {
  if (!model.formula || residuals || !model.formula->has_left_side) {
    return std::make_unique<GraphRows>(model.source(weighted), model.programs(all, weighted)->programs, data,
                                       p, all);
  }
  Formula right = *model.formula;  // without the left side, which would need y
  right.has_left_side = false;
  right.response = right.graph.column(static_cast<int>(right.predictors.size()));
  return std::make_unique<GraphRows>(std::make_shared<FormulaResidual>(std::move(right), weighted), data, p,
                                     all);
}

// Returns the values in the model's order, checked.
std::vector<double> in_order(const std::vector<std::string>& names, const ParameterValues& p) {
  std::vector<double> values = p.in_order();
  std::vector<std::string> wrong;
  if (p.by_name()) {
    values.assign(names.size(), 0.0);
    std::vector<int> given(names.size(), 0);
    for (const auto& [name, value] : p.named()) {
      const auto known = std::ranges::find(names, name);
      if (known == names.end()) {
        wrong.push_back(fmt::format("p: the model has no parameter '{}'; its parameters are {}", name,
                                    fmt::join(names, ", ")));
        continue;
      }
      const auto j = static_cast<std::size_t>(known - names.begin());
      values[j] = value;
      if (++given[j] == 2)
        wrong.push_back(fmt::format("p: parameter '{}' is named twice: give every parameter once", name));
    }
    for (std::size_t j = 0; j < names.size(); ++j) {
      if (given[j] == 0)
        wrong.push_back(
            fmt::format("p: {} has no value; an evaluation needs one for every parameter", names[j]));
    }
  } else if (values.size() != names.size()) {
    throw ValidationError(fmt::format("p has {} values, the model {} parameters ({})", values.size(),
                                      names.size(), fmt::join(names, ", ")));
  }
  for (std::size_t j = 0; j < names.size(); ++j) {
    if (!std::isfinite(values[j]))
      wrong.push_back(fmt::format("p: {} = {} is not finite", names[j], values[j]));
  }
  if (!wrong.empty()) throw ValidationError(std::move(wrong));
  return values;
}

}  // namespace

Evaluation evaluate_prepared(const PreparedModel::Impl& model, const Columns& x, const std::vector<double>& p,
                             const PrecisionPolicy& policy, const EvaluateOptions& options,
                             const DifferenceSizes& differences) {
  std::vector<Violation> found = policy.validate();
  for (Violation& v : policy.unknown_components({})) found.push_back(std::move(v));
  if (!found.empty()) throw ValidationError(std::move(found));
  bool weighted = false;
  const auto data = rows_of(model, x, options, weighted);
  const std::vector<int> all = all_parameters(p.size());
  std::string note = model.note;
  if (model.has_programs()) {
    try {
      const auto rows = program_rows(model, data, weighted, p, all, !options.y.empty());
      return evaluate_rows(*rows, p, policy, options);
    } catch (const RecordingFailed& failed) {
      note = failed.what();
    }
  }
  const auto rows =
      fallback_rows(*model.function, data, weighted, p, all, differences.limits, differences.sizes);
  Evaluation out = evaluate_rows(*rows, p, policy, options);
  out.evaluator_note = note;
  return out;
}

Evaluation evaluate(const PreparedModel& model, const Columns& x, const ParameterValues& p,
                    const PrecisionPolicy& policy, const EvaluateOptions& options) {
  const FpEnvironment environment;
  return evaluate_prepared(model.impl(), x, in_order(model.parameter_names(), p), policy, options);
}

Evaluation evaluate(std::string_view formula, const Columns& x, const ParameterValues& p,
                    const PrecisionPolicy& policy, const EvaluateOptions& options) {
  const FpEnvironment environment;
  return evaluate(PreparedModel(formula, static_cast<int>(x.size())), x, p, policy, options);
}

Evaluation evaluate(const ModelFunction& model, const Columns& x, const std::vector<double>& p,
                    const PrecisionPolicy& policy, const EvaluateOptions& options) {
  const FpEnvironment environment;
  return evaluate(PreparedModel(model, x, p), x, p, policy, options);
}

}  // namespace nlsq::inline v0
