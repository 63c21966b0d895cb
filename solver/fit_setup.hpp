// What curve_fit and its kin share: names, free parameters, checked data.
#pragma once

#include "data_survey.hpp"

#include <nlsq/column.hpp>
#include <nlsq/curve_fit.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Throws ValidationError listing every violation of the options.
void check_options(const SolverOptions& options, std::span<const std::string> components = {});

// Starting values by name; `fallback` where none is given. Throws ValidationError for an unknown
// name, one given twice, or a value that is not finite.
std::vector<double> starting_values(const std::vector<std::string>& names, const NamedValues& given,
                                    const std::vector<double>& fallback);

// Indices of the parameters that are not fixed. Throws ValidationError for an unknown name.
std::vector<int> free_parameters(const std::vector<std::string>& names, const std::vector<std::string>& fixed);

// Data of a fit: predictors, y, and sigma where `weighted`. Large data are looked at later, in the first pass.
struct FitData {
  std::shared_ptr<const RowSource> rows;
  bool weighted = false;
  std::shared_ptr<DataSurvey> survey;
};
// Throw DataError where there are no rows or lengths disagree, and as DataSurvey does.
FitData fit_data(const Columns& x, const Column& y, const Column& sigma, const std::vector<std::string>& predictor_names);
FitData fit_data(std::shared_ptr<const RowSource> rows, std::vector<std::string> predictor_names);

// Throws DataError when there are fewer rows than free parameters.
void check_counts(std::size_t rows, std::size_t free);

}  // namespace nlsq::inline v0
