// Minima that float64 cannot see: the terms of the model cancel, and their rounding is not small beside y.
#pragma once

#include <nlsq/curve_fit.hpp>

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// The message of such a fit.
inline constexpr const char* kHiddenMinimum =
    "terms of the model are so large that they cancel, and float64 sees their rounding instead of the "
    "minimum";

// R² of most rows: without the tenth of them, at least one, whose y is furthest from the median. One row of
// 1e12 makes R² 1 - 1e-16, whatever the others do. `squares`: the sum of all squared residuals. An empty
// `sigma` is 1. Returns 1 if the rows that are left are all alike, which says nothing.
double share_explained_of_most(std::span<const double> y, std::span<const double> sigma, double squares);
// The same for rows with x in the first `predictors` columns, then y, then sigma if `weighted`.
double share_explained_of_most(const RowSource& data, int predictors, bool weighted, double squares);

// Whether a fit passed only because the certificate allows for rounding errors that are large beside y
// (is_hidden_by_rounding), or beside most of y. `of_most` returns share_explained_of_most() of the fit. It is
// called only where it decides.
bool hides_minimum(const Certificate& certificate, double r_squared, const std::function<double()>& of_most);

// Withdraws the certificate of such a fit. batch/uncertain_fits.hpp does the same for batches.
void withdraw_hidden(FitResult& fit, const std::function<double()>& of_most);

// For a fit without success: names predictors that are far from 0 beside their range (Julian dates, seconds
// since 1970), and what to fit in their place. The first `predictors` columns of `data` are x.
std::vector<std::string> advice_on_origin(const RowSource& data, int predictors);

}  // namespace nlsq::inline v0
