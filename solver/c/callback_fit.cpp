// Fits a model that is a callback over all rows. Its residuals are those of a vector function, and the
// statistics are those of a curve.
#include "c/caller_fit.hpp"
#include "dense/dense_evaluator.hpp"
#include "expression/names.hpp"
#include "fit/curve.hpp"
#include "fit/fit_setup.hpp"
#include "fit/row_sums.hpp"
#include "start/linear_by_trial.hpp"
#include "support/fp_environment.hpp"

#include "rows/calls/fallback_rows.hpp"
#include "rows/calls/loss_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

namespace nlsq::inline v0::c {

namespace {

// Holds the data with which the callback is compared. A loss of counts needs the model's values instead of
// residuals.
struct Weighting {
  std::vector<double> y, sigma;  // sigma is empty if all are 1
  bool values = false;

  void residuals(std::vector<double>& f) const {
    for (std::size_t i = 0; i < f.size() && !values; ++i)
      f[i] = (f[i] - y[i]) / (sigma.empty() ? 1 : sigma[i]);
  }
  void jacobian(std::span<double> J) const {
    const std::size_t n = J.size() / y.size();
    for (std::size_t i = 0; i < y.size() && !sigma.empty(); ++i) {
      for (std::size_t j = 0; j < n; ++j) J[i * n + j] /= sigma[i];
    }
  }
};

Weighting weighting_of(const SurveyedRows& data) {
  Weighting out;
  const std::size_t m = data.rows->rows();
  out.y.resize(m);
  data.rows->read(0, m, 0, out.y.data());
  if (data.form.weighted) {
    out.sigma.resize(m);
    data.rows->read(0, m, 1, out.sigma.data());
  }
  out.values = data.form.loss.is_counts();
  return out;
}

// Returns the function that computes the residuals. It keeps references to its arguments.
VectorFunction vector_function(const Callback& callback, const Ties& ties, const Weighting& weighting) {
  VectorFunction function;
  function.concurrent = false;
  function.value = [&](std::span<const double> given) {
    std::vector<double> p(given.begin(), given.end());
    ties.apply(p);
    // A row that the callback does not fill remains NaN.
    std::vector<double> f(weighting.y.size(), std::numeric_limits<double>::quiet_NaN());
    callback.call(p.data(), f.data(), nullptr);
    weighting.residuals(f);
    return f;
  };
  return function;
}

// Computes J' = J ∂p/∂p_free in the columns of free parameters.
void follow_ties(const Ties& ties, std::span<const double> p, const std::vector<int>& free,
                 std::span<double> J) {
  if (ties.empty()) return;
  const std::size_t n = p.size(), k = free.size();
  const std::vector<double> G = ties.slopes(p, free);
  std::vector<double> row(n);
  for (std::size_t first = 0; first < J.size(); first += n) {
    std::copy_n(&J[first], n, row.begin());
    for (std::size_t b = 0; b < k; ++b) {
      double sum = 0;
      for (std::size_t j = 0; j < n; ++j) {
        if (G[j * k + b] != 0) sum += row[j] * G[j * k + b];
      }
      J[first + static_cast<std::size_t>(free[b])] = sum;
    }
  }
}

VectorRows::Jacobian jacobian_function(const Callback& callback, const Ties& ties,
                                       const std::vector<int>& free, const Weighting& weighting) {
  return [&](std::span<const double> given, std::span<double> J) {
    std::vector<double> p(given.begin(), given.end());
    ties.apply(p);
    std::vector<double> f(weighting.y.size());
    callback.call(p.data(), f.data(), J.data());
    follow_ties(ties, p, free, J);
    weighting.jacobian(J);
  };
}

void need_all_starts(const CallerModel& model, const NamedValues& p0, const Ties& ties) {
  std::string missing;
  for (std::size_t j = 0; j < model.parameters.size(); ++j) {
    const std::string& name = model.parameters[j];
    if (!has_value(p0, name) && !ties.contains(static_cast<int>(j)))
      missing += (missing.empty() ? "" : ", ") + name;
  }
  if (!missing.empty())
    throw ValidationError(
        fmt::format("p0: no value for {}; a callback needs one for each parameter", missing));
}

}  // namespace

FitResult fit_callback(const CallerModel& model, const Column& y, const NamedValues& p0,
                       const FitOptions& options, Differences differences) {
  const FpEnvironment environment;
  check_options(options);
  if (!options.sigma_x.empty())
    throw ValidationError(
        "sigma_x needs the model's derivatives by x, and a callback has none: use a formula or a tape");
  SurveyedRows data = surveyed_rows(Columns(std::vector<Column>{}), y, options, {});
  data.survey->run();
  const Weighting weighting = weighting_of(data);
  Ties ties(model.parameters, options.ties, options.fixed);
  check_starts(p0, model.parameters, ties);
  need_all_starts(model, p0, ties);
  const Limits limits = limits_of(options.bounds, model.parameters, ties);
  std::vector<double> start =
      starting_values(model.parameters, p0, std::vector<double>(model.parameters.size(), 1.0), limits);
  ties.apply(start);
  Curve curve = checked_curve(model.parameters, std::move(start), limits, ties, std::move(data), 0, options);
  curve.linear_by_trial = true;
  const VectorFunction function = vector_function(model.callback, ties, weighting);
  const VectorRows::Jacobian jacobian = model.has_jacobian
                                            ? jacobian_function(model.callback, ties, curve.free, weighting)
                                            : VectorRows::Jacobian{};
  const auto called =
      std::make_shared<VectorRows>(function, curve.start, curve.free, jacobian, std::vector<RowComponent>{},
                                   limits.lower, limits.upper, differences);
  if (!weighting.values) called->set_constants(response_sizes(*curve.data, 0, curve.form.weighted));
  curve.rows_of = [&](const ResidualForm& form) -> std::shared_ptr<RowModel> {
    if (form.loss.is_linear()) return called;
    return std::make_shared<LossRows>(called, form, CountColumn{curve.data, 0});
  };
  const std::shared_ptr<RowModel> rows = curve.rows_of(curve.form);
  LinearByTrial linear = linear_by_trial(curve, *rows);
  curve.solved_start = std::move(linear.solved);
  FitResult fit = fit_rows(curve, *rows, linear.positions);
  fit.summary.evaluator_note = model.has_jacobian ? "derivatives by the callback" : "the model is a callback";
  return fit;
}

void add_up_callback(const CallerModel& model, const Column& y, const FitOptions& options,
                     const std::vector<double>& p, std::span<double> sums) {
  const SurveyedRows data = surveyed_rows(Columns(std::vector<Column>{}), y, options, {});
  data.survey->run();
  const Weighting weighting = weighting_of(data), unweighted{weighting.y, {}};
  const Ties ties;
  const std::vector<int> free = all_parameters(p.size());
  const auto rows_with = [&](const Weighting& of) {
    const VectorRows::Jacobian jacobian =
        model.has_jacobian ? jacobian_function(model.callback, ties, free, of) : VectorRows::Jacobian{};
    auto rows = std::make_unique<VectorRows>(vector_function(model.callback, ties, of), p, free, jacobian);
    rows->start_at({});  // derivatives must be exact at p
    rows->set_constants(response_sizes(*data.rows, 0, !of.sigma.empty()));
    return rows;
  };
  const auto rows = rows_with(weighting);
  const auto plain_rows = weighting.sigma.empty() ? nullptr : rows_with(unweighted);
  DenseEvaluator evaluator(*rows), plain(plain_rows ? *plain_rows : *rows);
  add_up(evaluator, plain, y, options.sigma, p, sums);
}

}  // namespace nlsq::inline v0::c
