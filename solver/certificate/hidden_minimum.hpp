// Minima that float64 cannot see: the terms of the model cancel, and their rounding is not small beside y.
#pragma once

#include <nlsq/curve_fit.hpp>

#include <string>
#include <vector>

namespace nlsq::inline v0 {

// The message of such a fit.
inline constexpr const char* kHiddenMinimum =
    "terms of the model are so large that they cancel, and float64 sees their rounding instead of the "
    "minimum";

// Withdraws the certificate of a fit that passed only because it allows for rounding errors that are large
// beside y (is_hidden_by_rounding). batch/uncertain_fits.hpp does the same for batches.
void withdraw_hidden(FitResult& fit);

// For a fit without success: names predictors that are far from 0 beside their range (Julian dates, seconds
// since 1970), and what to fit in their place. The first `predictors` columns of `data` are x.
std::vector<std::string> advice_on_origin(const RowSource& data, int predictors);

}  // namespace nlsq::inline v0
