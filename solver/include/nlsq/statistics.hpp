// Declares the distributions that reports use. Their relative accuracy is about 1e-12 for the sizes that
// occur (degrees of freedom up to 1e8; tests/cli/report/test_statistics.cpp).
#pragma once

#include <nlsq/export.hpp>

namespace nlsq::inline v0 {

// Returns the regularized incomplete beta function I_x(a, b) (DLMF 8.17.2) for a, b > 0, 0 <= x <= 1.
NLSQ_API double incomplete_beta(double a, double b, double x);

// Returns the regularized upper incomplete gamma function Q(a, x) (DLMF 8.2.4) for a > 0, x >= 0.
NLSQ_API double incomplete_gamma_upper(double a, double x);

// Returns P(|T| <= t) of Student's distribution with `dof` degrees of freedom, for t >= 0.
NLSQ_API double student_t_coverage(double t, double dof);

// Returns the t for which P(|T| <= t) = confidence, 0 < confidence < 1. Infinite dof means the normal
// distribution. Returns NaN for dof <= 0.
NLSQ_API double student_t_quantile(double confidence, double dof);

// Returns P(chi² >= value) with `dof` degrees of freedom, or NaN for dof <= 0.
NLSQ_API double chi_square_p_value(double value, double dof);

}  // namespace nlsq::inline v0
