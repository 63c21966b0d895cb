#include "fit_setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

std::string listed(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

std::size_t index_of(const std::vector<std::string>& names, const std::string& name, const char* where) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw ValidationError(fmt::format("{}: the model has no parameter '{}'; its parameters are {}", where, name, listed(names)));
  }
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace

void check_options(const SolverOptions& options, std::span<const std::string> components) {
  std::vector<std::string> found = options.violations();
  for (const Violation& v : options.policy().unknown_components(components)) found.push_back(v.message());
  if (!found.empty()) throw ValidationError(std::move(found));
}

std::vector<double> starting_values(const std::vector<std::string>& names, const NamedValues& given,
                                    const std::vector<double>& fallback) {
  std::vector<double> values = fallback;
  std::vector<bool> set(names.size(), false);
  for (const auto& [name, value] : given) {
    const std::size_t j = index_of(names, name, "p0");
    if (set[j]) throw ValidationError(fmt::format("p0: parameter '{}' is named twice: give every parameter a name of its own", name));
    set[j] = true;
    if (!std::isfinite(value)) throw ValidationError(fmt::format("p0: {} = {} is not finite", name, value));
    values[j] = value;
  }
  return values;
}

void check_starts(const NamedValues& p0, const std::vector<std::string>& names, const Ties& ties) {
  for (const auto& [name, value] : p0) {
    const std::string expression = ties.expression(static_cast<int>(index_of(names, name, "p0")));
    if (!expression.empty()) throw ValidationError(fmt::format("p0: {} = {}: '{}' is tied ({} = {}) and has no start of its own", name, value, name, name, expression));
  }
}

std::vector<int> free_parameters(const std::vector<std::string>& names, const std::vector<std::string>& fixed, const Ties& ties) {
  std::vector<bool> held(names.size(), false);
  for (const std::string& name : fixed) held[index_of(names, name, "fixed")] = true;
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

const Loss& curve_loss(const FitOptions& options) {
  if (options.loss.is_own()) throw ValidationError("loss: one of your own is of nlsq::Problem; rows are evaluated by vector programs, which know those with a name");
  return options.loss;
}

NamedColumns data_columns(const Columns& x, const Column& y, const Column& sigma, const std::vector<std::string>& predictor_names) {
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

FitData checked_data(NamedColumns data, const Column& y, ResidualForm form) {
  for (std::size_t c = 0; c < data.columns.size(); ++c) {
    if (data.columns[c].size() != y.size()) {
      throw DataError(fmt::format("{} has {} rows, y has {}: give columns of one length", data.names[c], data.columns[c].size(), y.size()),
                      DataError::npos, c);
    }
  }
  auto rows = std::make_shared<MemoryRows>(std::move(data.columns));
  auto survey = std::make_shared<DataSurvey>(rows, std::move(data.names), form);
  return {std::move(rows), std::move(form), std::move(survey)};
}

}  // namespace

FitData fit_data(const Columns& x, const Column& y, const Column& sigma, const std::vector<std::string>& predictor_names) {
  return checked_data(data_columns(x, y, sigma, predictor_names), y, !sigma.empty());
}

FitData fit_data(std::shared_ptr<const RowSource> rows, std::vector<std::string> predictor_names) {
  return fit_data(std::move(rows), FitOptions{}, std::move(predictor_names));
}

FitData fit_data(const Columns& x, const Column& y, const FitOptions& options, const std::vector<std::string>& predictor_names) {
  const Column& sigma = options.sigma;
  NamedColumns data = data_columns(x, y, sigma, predictor_names);
  ResidualForm form(!sigma.empty());
  form.loss = curve_loss(options);
  if (options.sigma_x.size() > predictor_names.size()) {
    throw ValidationError(fmt::format("sigma_x has {} columns, the model {} predictor(s) ({}): give one for each, an empty one for one that is exact",
                                      options.sigma_x.size(), predictor_names.size(), listed(predictor_names)));
  }
  for (std::size_t k = 0; k < options.sigma_x.size(); ++k) {
    if (options.sigma_x[k].empty()) continue;
    form.x_errors.push_back(static_cast<int>(k));
    data.columns.push_back(options.sigma_x[k]);
    data.names.push_back(fmt::format("sigma_x of {}", predictor_names[k]));
  }
  if (form.loss.is_counts() && (form.weighted || !form.x_errors.empty())) {
    throw ValidationError("loss poisson: the standard deviation of a count is the root of the model; leave sigma and sigma_x out");
  }
  if (!form.x_errors.empty() && !form.weighted) {
    throw ValidationError("sigma_x needs sigma beside it: errors in x are weighed against those in y; give sigma, in units of y");
  }
  return checked_data(std::move(data), y, std::move(form));
}

FitData fit_data(std::shared_ptr<const RowSource> rows, const FitOptions& options, std::vector<std::string> predictor_names) {
  ResidualForm form(rows->columns() == static_cast<int>(predictor_names.size()) + 2);
  form.loss = curve_loss(options);
  if (!options.sigma_x.empty()) throw ValidationError("sigma_x: rows from a source have no columns for it; give x, y and sigma as columns");
  if (form.loss.is_counts() && form.weighted) {
    throw ValidationError("loss poisson: the standard deviation of a count is the root of the model; leave sigma out");
  }
  predictor_names.emplace_back("y");
  predictor_names.emplace_back("sigma");
  auto survey = std::make_shared<DataSurvey>(rows, std::move(predictor_names), form);
  return {std::move(rows), std::move(form), std::move(survey)};
}

void check_counts(std::size_t rows, std::size_t free) {
  if (rows < free) {
    throw DataError(fmt::format("{} rows cannot determine {} parameters: give more rows or fix parameters", rows, free));
  }
}

}  // namespace nlsq::inline v0
