// What curve_fit and its kin share: names, free parameters, checked data.
#pragma once

#include "data_survey.hpp"

#include <nlsq/column.hpp>
#include <nlsq/residual_form.hpp>
#include <nlsq/ties.hpp>
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

// Indices of the parameters that are neither fixed nor tied. Throws ValidationError for an unknown name.
std::vector<int> free_parameters(const std::vector<std::string>& names, const std::vector<std::string>& fixed, const Ties& ties = {});

// Throws ValidationError where a tied parameter has a starting value.
void check_starts(const NamedValues& p0, const std::vector<std::string>& names, const Ties& ties);

// Data of a fit: columns of `form`. Large data are looked at later, in the first pass.
struct FitData {
  std::shared_ptr<const RowSource> rows;
  ResidualForm form;
  std::shared_ptr<DataSurvey> survey;
};
// Throw DataError where there are no rows or lengths disagree, and as DataSurvey does.
FitData fit_data(const Columns& x, const Column& y, const Column& sigma, const std::vector<std::string>& predictor_names);
FitData fit_data(std::shared_ptr<const RowSource> rows, std::vector<std::string> predictor_names);
// The same with the loss and the errors in x of the options, and ValidationError where these contradict each other.
FitData fit_data(const Columns& x, const Column& y, const FitOptions& options, const std::vector<std::string>& predictor_names);
FitData fit_data(std::shared_ptr<const RowSource> rows, const FitOptions& options, std::vector<std::string> predictor_names);

// Throws DataError when there are fewer rows than free parameters.
void check_counts(std::size_t rows, std::size_t free);

}  // namespace nlsq::inline v0
