// Statistics of a certified minimum: standard errors, R², information criteria. curve.cpp uses it.
#pragma once

#include "dense/row_statistics.hpp"
#include "minimizer/minimizer.hpp"

#include <nlsq/curve_fit.hpp>

namespace nlsq::inline v0 {

// The factor that turns (JᵀJ)⁻¹ into the covariance: the residual variance, or 1 if sigma is in units of y.
// Directions that the data do not determine cost no degree of freedom. NaN without degrees of freedom.
double covariance_factor(double rss, std::size_t rows, std::size_t free, int rank, bool absolute_sigma);

// How many of the `free` parameters the data determine, without those on a bound.
std::size_t determined_parameters(const Certificate& certificate, std::size_t free);

// Fills covariance, standard errors, dof, rss, R², AIC, BIC and warnings. `free` lists the fitted parameters
// of the model, in the minimizer's order. `of_rows`: null unless the loss is nonlinear. `total`: sum of
// squares about the mean; for counts, the deviance of a constant.
void fill_statistics(FitResult& fit, const MinimizerResult& minimum, const std::vector<int>& free,
                     const Loss& loss, const RowStatistics* of_rows, bool absolute_sigma, double total);

}  // namespace nlsq::inline v0
