// From a certified minimum to what a user reads: standard errors, R², information criteria.
#pragma once

#include "dense/row_statistics.hpp"
#include "minimizer/minimizer.hpp"

#include <nlsq/curve_fit.hpp>

namespace nlsq::inline v0 {

// What (JᵀJ)⁻¹ is multiplied by to be the covariance: the scatter of the residuals, or 1 where sigma is in
// units of y. Directions the data do not determine cost no degree of freedom. NaN without degrees of freedom.
double covariance_factor(double rss, std::size_t rows, std::size_t free, int rank, bool absolute_sigma);

// Fills covariance, standard errors, dof, rss, R², AIC, BIC and warnings. `free` lists the model's
// parameters that were fitted, in the order of the minimizer's. `of_rows`: under a loss that is not linear,
// null otherwise. `total`: of squares about the mean; under counts the deviance of a constant.
void fill_statistics(FitResult& fit, const MinimizerResult& minimum, const std::vector<int>& free,
                     const Loss& loss, const RowStatistics* of_rows, bool absolute_sigma, double total);

}  // namespace nlsq::inline v0
