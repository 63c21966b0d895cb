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

std::vector<int> free_parameters(const std::vector<std::string>& names, const std::vector<std::string>& fixed) {
  std::vector<bool> held(names.size(), false);
  for (const std::string& name : fixed) held[index_of(names, name, "fixed")] = true;
  std::vector<int> free;
  for (std::size_t j = 0; j < names.size(); ++j) {
    if (!held[j]) free.push_back(static_cast<int>(j));
  }
  return free;
}

FitData fit_data(const Columns& x, const Column& y, const Column& sigma, const std::vector<std::string>& predictor_names) {
  std::vector<Column> columns = x.list();
  std::vector<std::string> names = predictor_names;
  if (columns.size() != predictor_names.size()) {
    throw DataError(fmt::format("the model has {} predictor(s) ({}), {} data column(s) of x were given",
                                predictor_names.size(), listed(predictor_names), columns.size()));
  }
  columns.push_back(y);
  names.emplace_back("y");
  if (!sigma.empty()) {
    columns.push_back(sigma);
    names.emplace_back("sigma");
  }
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].size() != y.size()) {
      throw DataError(fmt::format("{} has {} rows, y has {}: give columns of one length", names[c], columns[c].size(), y.size()),
                      DataError::npos, c);
    }
  }
  return fit_data(std::make_shared<MemoryRows>(std::move(columns)), predictor_names);
}

FitData fit_data(std::shared_ptr<const RowSource> rows, std::vector<std::string> predictor_names) {
  const bool weighted = rows->columns() == static_cast<int>(predictor_names.size()) + 2;
  predictor_names.emplace_back("y");
  predictor_names.emplace_back("sigma");
  auto survey = std::make_shared<DataSurvey>(rows, std::move(predictor_names), weighted);
  return {std::move(rows), weighted, std::move(survey)};
}

void check_counts(std::size_t rows, std::size_t free) {
  if (rows < free) {
    throw DataError(fmt::format("{} rows cannot determine {} parameters: give more rows or fix parameters", rows, free));
  }
}

}  // namespace nlsq::inline v0
