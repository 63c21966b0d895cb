// Checks options, bounds, names and data of a fit. All fitting functions use it.
#include "fit/fit_setup.hpp"

#include "support/constants.hpp"

#include "expression/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

std::string listed(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::size_t parameter_index(const std::vector<std::string>& names, const std::string& name,
                            const char* option) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    throw ValidationError(fmt::format("{}: the model has no parameter '{}'; its parameters are {}", option,
                                      name, listed(names)));
  }
  return static_cast<std::size_t>(found - names.begin());
}

void check_named(const Loss& loss) {
  if (loss.is_own())
    throw ValidationError(
        "loss: one of your own is of nlsq::Problem; rows are evaluated by vector programs, which know those "
        "with a name");
}

void check_options(const SolverOptions& options, std::span<const std::string> components) {
  std::vector<std::string> found = options.violations();
  if (options.step_solver == StepSolver::iterative)
    found.push_back("step_solver = iterative is of Problem: leave it out for a fit");
  for (const Violation& v : options.policy().unknown_components(components)) found.push_back(v.message());
  if (!found.empty()) throw ValidationError(std::move(found));
}

Limits limits_of(const Bounds& bounds, const std::vector<std::string>& names, const Ties& ties) {
  if (bounds.empty()) return {};
  const std::size_t n = names.size();
  std::vector<std::string> wrong;
  const auto side = [&](const std::vector<double>& given, double none, const char* which) {
    if (given.size() != 1 && given.size() != n && !given.empty()) {
      wrong.push_back(
          fmt::format("bounds: {} {} ones for {} parameters ({}): give one for all or one for each",
                      given.size(), which, n, listed(names)));
    }
    std::vector<double> values(n, none);
    for (std::size_t j = 0; j < n && !given.empty(); ++j) values[j] = given[std::min(j, given.size() - 1)];
    for (std::size_t j = 0; j < n; ++j) {
      if (std::isnan(values[j]))
        wrong.push_back(
            fmt::format("bounds: the {} one of {} is NaN: an infinity is no bound", which, names[j]));
    }
    return values;
  };
  Limits out{side(bounds.lower, -kInfinity, "lower"), side(bounds.upper, kInfinity, "upper")};
  bool any = false;
  for (std::size_t j = 0; j < n; ++j) {
    const double lower = out.lower[j], upper = out.upper[j];
    any = any || lower > -kInfinity || upper < kInfinity;
    if (lower > upper) {
      wrong.push_back(
          fmt::format("bounds: the lower one of {}, {}, is above the upper one, {}: exchange them", names[j],
                      lower, upper));
    } else if (lower == kInfinity || upper == -kInfinity) {
      wrong.push_back(
          fmt::format("bounds: no number lies between those of {}, {} and {}", names[j], lower, upper));
    }
    const std::string expression = ties.expression(static_cast<int>(j));
    if (!expression.empty() && (lower > -kInfinity || upper < kInfinity)) {
      wrong.push_back(
          fmt::format("bounds: {} is tied ({} = {}): bound what it follows, and give it infinities", names[j],
                      names[j], expression));
    }
  }
  if (!wrong.empty()) throw ValidationError(std::move(wrong));
  return any ? out : Limits{};
}

Limits limits_of_free(const Limits& limits, const std::vector<int>& free) {
  if (limits.empty()) return {};
  Limits out;
  bool any = false;
  for (const int index : free) {
    const auto j = static_cast<std::size_t>(index);
    out.lower.push_back(limits.lower[j]);
    out.upper.push_back(limits.upper[j]);
    any = any || limits.lower[j] > -kInfinity || limits.upper[j] < kInfinity;
  }
  return any ? out : Limits{};
}

std::vector<int> without_bounds(const std::vector<int>& free, const Limits& limits) {
  std::vector<int> out;
  for (std::size_t k = 0; k < free.size(); ++k) {
    if (limits.empty() || (std::isinf(limits.lower[k]) && std::isinf(limits.upper[k])))
      out.push_back(free[k]);
  }
  return out;
}

void check_within(const Limits& limits, const std::vector<std::string>& names,
                  const std::vector<double>& values, const char* what) {
  if (limits.empty()) return;
  std::vector<std::string> wrong;
  for (std::size_t j = 0; j < names.size(); ++j) {
    if (values[j] < limits.lower[j]) {
      wrong.push_back(fmt::format("{}: {} = {} is below its lower bound {}: start within the bounds", what,
                                  names[j], values[j], limits.lower[j]));
    } else if (values[j] > limits.upper[j]) {
      wrong.push_back(fmt::format("{}: {} = {} is above its upper bound {}: start within the bounds", what,
                                  names[j], values[j], limits.upper[j]));
    }
  }
  if (!wrong.empty()) throw ValidationError(std::move(wrong));
}

void check_options(const FitOptions& options) {
  check_options(static_cast<const SolverOptions&>(options));
  if (options.starts < 1) throw ValidationError(fmt::format("starts = {}: use 1 or more", options.starts));
}

bool has_value(const NamedValues& values, std::string_view name) {
  return std::ranges::any_of(values, [&](const auto& value) { return value.first == name; });
}

NamedValues named_values(const std::vector<std::string>& names, std::span<const double> values,
                         const Ties& ties) {
  NamedValues out;
  out.reserve(values.size());
  for (std::size_t j = 0; j < values.size(); ++j) {
    if (!ties.contains(static_cast<int>(j))) out.emplace_back(names[j], values[j]);
  }
  return out;
}

std::vector<std::string> without_start(const std::vector<std::string>& names, const NamedValues& p0) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    if (!has_value(p0, name)) out.push_back(name);
  }
  return out;
}

std::vector<double> default_start(std::size_t parameters, const Limits& limits) {
  std::vector<double> start(parameters, 1.0);
  for (std::size_t j = 0; j < limits.lower.size(); ++j) {
    const double lower = limits.lower[j], upper = limits.upper[j];
    if (lower < 1 && upper > 1) continue;
    if (std::isinf(lower)) start[j] = upper - 1;
    else start[j] = std::isinf(upper) ? lower + 1 : 0.5 * lower + 0.5 * upper;
  }
  return start;
}

std::vector<double> starting_values(const std::vector<std::string>& names, const NamedValues& given,
                                    const std::vector<double>& fallback, const Limits& limits,
                                    const Ties& ties) {
  std::vector<double> values = fallback;
  for (std::size_t j = 0; j < values.size(); ++j) values[j] = limits.nearest(j, values[j]);
  std::vector<bool> set(names.size(), false);
  for (const auto& [name, value] : given) {
    const std::size_t j = parameter_index(names, name, "p0");
    if (set[j])
      throw ValidationError(
          fmt::format("p0: parameter '{}' is named twice: give every parameter a name of its own", name));
    set[j] = true;
    if (!std::isfinite(value)) throw ValidationError(fmt::format("p0: {} = {} is not finite", name, value));
    values[j] = value;
  }
  check_within(limits, names, values, "p0");
  ties.apply(values);
  return values;
}

void check_starts(const NamedValues& p0, const std::vector<std::string>& names, const Ties& ties) {
  for (const auto& [name, value] : p0) {
    const std::string expression = ties.expression(static_cast<int>(parameter_index(names, name, "p0")));
    if (!expression.empty())
      throw ValidationError(fmt::format("p0: {} = {}: '{}' is tied ({} = {}) and has no start of its own",
                                        name, value, name, name, expression));
  }
}

std::vector<int> free_parameters(const std::vector<std::string>& names, const std::vector<std::string>& fixed,
                                 const Ties& ties, const Limits& limits) {
  std::vector<bool> held(names.size(), false);
  for (std::size_t j = 0; j < limits.lower.size(); ++j) held[j] = limits.lower[j] == limits.upper[j];
  for (const std::string& name : fixed) held[parameter_index(names, name, "fixed")] = true;
  std::vector<int> free;
  for (std::size_t j = 0; j < names.size(); ++j) {
    if (!held[j] && !ties.contains(static_cast<int>(j))) free.push_back(static_cast<int>(j));
  }
  return free;
}

namespace {

struct NamedColumns {
  std::vector<Column> columns;
  std::vector<std::string> names;
};

NamedColumns data_columns(const Columns& x, const Column& y, const Column& sigma,
                          const std::vector<std::string>& predictor_names) {
  NamedColumns out{x.list(), predictor_names};
  if (out.columns.size() != predictor_names.size()) {
    throw DataError(fmt::format("the model has {} predictor(s) ({}), {} data column(s) of x were given",
                                predictor_names.size(), listed(predictor_names), out.columns.size()));
  }
  out.columns.push_back(y);
  out.names.emplace_back("y");
  if (!sigma.empty()) {
    out.columns.push_back(sigma);
    out.names.emplace_back("sigma");
  }
  return out;
}

}  // namespace

SurveyedRows surveyed_rows(const Columns& x, const Column& y, const FitOptions& options,
                           const std::vector<std::string>& predictor_names) {
  const Column& sigma = options.sigma;
  NamedColumns data = data_columns(x, y, sigma, predictor_names);
  ResidualForm form(!sigma.empty());
  check_named(options.loss);
  form.loss = options.loss;
  if (options.sigma_x.size() > predictor_names.size()) {
    throw ValidationError(
        fmt::format("sigma_x has {} columns, the model {} predictor(s) ({}): give one for each, an empty one "
                    "for one that is exact",
                    options.sigma_x.size(), predictor_names.size(), listed(predictor_names)));
  }
  for (std::size_t k = 0; k < options.sigma_x.size(); ++k) {
    if (options.sigma_x[k].empty()) continue;
    form.x_errors.push_back(static_cast<int>(k));
    data.columns.push_back(options.sigma_x[k]);
    data.names.push_back(fmt::format("sigma_x of {}", predictor_names[k]));
  }
  if (!options.sigma_matrix.empty()) {
    if (form.weighted || !form.x_errors.empty())
      throw ValidationError("sigma_matrix is all that is known of the errors: leave sigma and sigma_x out");
    if (!form.loss.is_linear())
      throw ValidationError("sigma_matrix: a loss is of rows that are independent; leave one of both out");
  }
  if (form.loss.is_counts() && (form.weighted || !form.x_errors.empty())) {
    throw ValidationError(
        "loss poisson: the standard deviation of a count is the root of the model; leave sigma and sigma_x "
        "out");
  }
  if (!form.x_errors.empty() && !form.weighted) {
    throw ValidationError(
        "sigma_x needs sigma beside it: errors in x are weighed against those in y; give sigma, in units of "
        "y");
  }
  for (std::size_t c = 0; c < data.columns.size(); ++c) {
    if (data.columns[c].size() != y.size()) {
      throw DataError(fmt::format("{} has {} rows, y has {}: give columns of one length", data.names[c],
                                  data.columns[c].size(), y.size()),
                      DataError::npos, c);
    }
  }
  auto rows = std::make_shared<MemoryRows>(std::move(data.columns));
  auto survey = std::make_shared<DataSurvey>(rows, std::move(data.names), form);
  return {std::move(rows), std::move(form), std::move(survey)};
}

SurveyedRows surveyed_rows(std::shared_ptr<const RowSource> rows, const FitOptions& options,
                           std::vector<std::string> predictor_names) {
  ResidualForm form(rows->columns() == static_cast<int>(predictor_names.size()) + 2);
  check_named(options.loss);
  form.loss = options.loss;
  if (!options.sigma_matrix.empty())
    throw ValidationError("sigma_matrix: rows from a source have none; give x and y as columns");
  if (!options.sigma_x.empty())
    throw ValidationError(
        "sigma_x: rows from a source have no columns for it; give x, y and sigma as columns");
  if (form.loss.is_counts() && form.weighted) {
    throw ValidationError(
        "loss poisson: the standard deviation of a count is the root of the model; leave sigma out");
  }
  predictor_names.emplace_back("y");
  predictor_names.emplace_back("sigma");
  auto survey = std::make_shared<DataSurvey>(rows, std::move(predictor_names), form);
  return {std::move(rows), std::move(form), std::move(survey)};
}

std::string lack_of_rows(std::size_t rows, std::size_t free) {
  return fmt::format("{} row{} cannot determine {} parameters: give more rows or fix parameters", rows,
                     rows == 1 ? "" : "s", free);
}

void check_counts(std::size_t rows, std::size_t free) {
  if (rows < free) throw DataError(lack_of_rows(rows, free));
}

void check_uses_predictors(const Formula& formula) {
  const auto is_predictor = [&](const FormulaStep& step) {
    return step.op == Op::column && step.index < formula.predictors.size();
  };
  if (formula.predictors.empty() || formula.parameters.size() < 2 ||
      std::ranges::any_of(formula.steps, is_predictor) ||
      std::ranges::any_of(formula.response_steps, is_predictor))
    return;
  throw ValidationError(fmt::format(
      "the formula {} uses no predictor ({}): {} are its parameters and cannot be told apart; write {} "
      "where the formula means the data, or give the predictor another name",
      formula.text, fmt::join(formula.predictors, ", "), fmt::join(formula.parameters, ", "),
      fmt::join(formula.predictors, ", ")));
}

Formula formula_of_columns(std::string_view text, std::size_t columns) {
  Formula formula = parse_formula(text, predictor_options(columns));
  if (columns == 0 && std::ranges::find(formula.parameters, "x") != formula.parameters.end()) {
    throw DataError(
        "the model names x, and no data column of x was given: give one, or rename it if it is a parameter");
  }
  check_uses_predictors(formula);
  return formula;
}

}  // namespace nlsq::inline v0
