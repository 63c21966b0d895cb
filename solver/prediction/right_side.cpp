// Implements right_side() and other functions for refits.
#include "prediction/right_side.hpp"

#include "fit/fit_statistics.hpp"
#include "fit/prepared_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

RightSide right_side(const PreparedModel& model, const Columns& x, const Column& y) {
  const PreparedModel::Impl& impl = model.impl();
  for (const Column& column : x.list()) {
    if (column.size() == y.size()) continue;
    throw DataError(
        fmt::format("x has {} rows, y has {}: give columns of one length", column.size(), y.size()));
  }
  RightSide out{model, std::vector<double>(y.size()), impl.formula.has_value()};
  if (!impl.formula) {
    y.read(0, out.y.size(), out.y.data());
    return out;
  }
  Formula right = *impl.formula;
  out.y = responses_of(right, x, y);
  if (!right.has_left_side) return out;
  right.has_left_side = false;
  right.response_steps.clear();
  right.response = right.graph.column(static_cast<int>(right.predictors.size()));
  out.model = PreparedModel(std::move(right));
  return out;
}

void check_model(std::string_view what, const PreparedModel& model, const FitResult& fit) {
  if (model.parameter_names() == fit.parameter_names && fit.parameters.size() == fit.parameter_names.size())
    return;
  throw ValidationError(
      fmt::format("{}: the model has the parameters {}, the fit has {}; give the model that was fitted", what,
                  fmt::join(model.parameter_names(), ", "), fmt::join(fit.parameter_names, ", ")));
}

void check_same_cost(std::string_view what, double cost, double of_fit, const FitResult& fit) {
  // Residuals that are rounding errors of y may come out otherwise.
  const bool exact = 1 - fit.r_squared < 1e-10;
  const double most = exact ? 1e4 : 1 + 1e-6;
  if (!(of_fit > 0) || !std::isfinite(of_fit) || (cost <= most * of_fit && of_fit <= most * cost) ||
      (exact && cost <= of_fit))
    return;
  throw DataError(fmt::format(
      "{}: at the parameters of the fit these data have a cost of {:.6g}, and those of the fit had {:.6g}: "
      "give the data and options of the fit",
      what, cost, of_fit));
}

Parallelism threads_for(const RightSide& model, const Parallelism& options) {
  return model.concurrent ? options : Parallelism{1, {}};
}

bool has_x_errors(const FitOptions& options) {
  return std::ranges::any_of(options.sigma_x, [](const Column& c) { return !c.empty(); });
}

bool is_tied(const FitResult& fit, std::size_t j) { return j < fit.ties.size() && !fit.ties[j].empty(); }

void fix_as_in(const FitResult& fit, FitOptions& options) {
  for (std::size_t j = 0; j < fit.fixed.size(); ++j) {
    const std::string& name = fit.parameter_names[j];
    if (fit.fixed[j] && std::ranges::find(options.fixed, name) == options.fixed.end())
      options.fixed.push_back(name);
  }
}

FitOptions refit_options(const FitResult& fit, const FitOptions& options, const std::function<bool()>& stop) {
  FitOptions out = options;
  out.threads = 1;
  out.executor = nullptr;
  out.team = nullptr;
  out.journal = nullptr;
  out.callback = nullptr;
  if (stop) out.callback = [stop](const IterationSummary&) { return stop() ? Stop : Continue; };
  out.starts = 1;
  out.parameter_names.clear();  // a prepared model has its own names
  fix_as_in(fit, out);
  return out;
}

NamedValues refit_start(const FitResult& fit, const std::vector<double>& parameters) {
  NamedValues out;
  for (std::size_t j = 0; j < parameters.size(); ++j) {
    if (!is_tied(fit, j)) out.emplace_back(fit.parameter_names[j], parameters[j]);
  }
  return out;
}

}  // namespace nlsq::inline v0
