// What curve_fit and its kin share: names, free parameters, checked data.
#pragma once

#include <nlsq/column.hpp>
#include <nlsq/curve_fit.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Throws ValidationError listing every violation of the options.
void check_options(const SolverOptions& options);

// Starting values by name; `fallback` where none is given. Throws ValidationError for an unknown
// name, one given twice, or a value that is not finite.
std::vector<double> starting_values(const std::vector<std::string>& names, const NamedValues& given,
                                    const std::vector<double>& fallback);

// Indices of the parameters that are not fixed. Throws ValidationError for an unknown name.
std::vector<int> free_parameters(const std::vector<std::string>& names, const std::vector<std::string>& fixed);

// Predictors, y and sigma as one source; throws DataError naming the first NaN, Inf, sigma <= 0 or
// lengths that disagree. `weighted`: the last column is sigma.
std::shared_ptr<const RowSource> checked_rows(const Columns& x, const Column& y, const Column& sigma,
                                              const std::vector<std::string>& predictor_names, bool& weighted);
void check_rows(const RowSource& rows, const std::vector<std::string>& column_names, bool weighted);

// All finite, and above zero where they must be.
bool all_usable(const double* values, std::size_t count, bool positive);

// Throws DataError when there are fewer rows than free parameters.
void check_counts(std::size_t rows, std::size_t free);

}  // namespace nlsq::inline v0
