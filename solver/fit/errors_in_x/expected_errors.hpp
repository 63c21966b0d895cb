// The errors that an estimate would have in repeated measurements with errors in x. A fit takes an error in x
// for one in y, by the slope of the curve at the measured x. Near a crest the slope says little of the error,
// and the values and standard errors of the fit may be wrong. This file finds out.
#pragma once

#include "fit/curve.hpp"

#include <span>
#include <string>

namespace nlsq::inline v0 {

struct ExpectedErrors {
  Vector shift;     // mean of estimate minus truth, for each free parameter
  Vector variance;  // of the estimate about its mean
  // How far the two may be wrong because the measured x stand for the true ones: the root of the sum of
  // squares over the rows.
  Vector shift_error, variance_error;
};

// Computes them for the estimator that minimizes Σ (d/s)², d = f - y, s² = sigma² + Σ (∂f/∂x_k)² sigma_x[k]²,
// if the parameters are those at x, the true predictors are those of the data, and all errors are normal with
// `scale` times their standard deviations. The gradient g of a row is averaged over the errors by a
// Gauss-Hermite rule of three points for each error, which is exact for polynomials up to degree 5. The shift
// is -C Σ E[g] and the covariance C Σ Cov[g] C. `inverse` is C = (JᵀJ)⁻¹ of the free parameters, with 0 for
// those that do not move, so steps are those of Gauss and Newton. At most 2,048 rows are read, spread over
// all. Rows with results that are not finite do not count. Empty for more than four predictors with errors.
ExpectedErrors expected_errors(const Curve& curve, std::span<const double> x, const Matrix& inverse,
                               double scale);

// Returns a warning if the errors of the fit at x are clearly larger than its standard errors say, else an
// empty text. There is none for a curve that is straight in x, and none under a robust loss, whose estimator
// is another one.
std::string warning_of_expected_errors(const Curve& curve, std::span<const double> x, const FitResult& fit);

}  // namespace nlsq::inline v0
