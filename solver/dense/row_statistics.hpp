// Computes statistics of the rows at a minimum under a loss, for standard errors. They take one more f64
// pass, over rows with extra columns (residual_form.hpp). Curve fits use them.
#pragma once

#include "dense/evaluator.hpp"

#include <nlsq/matrix.hpp>
#include <nlsq/options.hpp>
#include "rows/residual_form.hpp"
#include "rows/row_model.hpp"

#include <cstddef>
#include <span>

namespace nlsq::inline v0 {

struct RowStatistics {
  // n x n, of the free parameters; NaN for those that the data do not determine, and without degrees of
  // freedom
  Matrix covariance;
  double rss = 0;          // Σ r² of the weighted residuals; for counts Pearson's Σ (f - y)²/f
  std::size_t beyond = 0;  // rows with |r| above the scale of a robust loss
  // The loss gives rows beyond its scale ever less weight, and no more rows are within it than the rank of J.
  // Some curve goes through so few rows whatever they are, so their residuals say nothing about errors: the
  // covariance is NaN.
  bool too_few_within = false;
};

// Computes the statistics. `rows` have `form` with for_covariance. `x` holds the free parameters; the
// covariance leaves out those in `at_bound`.
//
// For robust losses it is an M-estimator's covariance with the small-sample correction of P. J. Huber, Robust
// Statistics, 1981, eq. 7.6.5, for identically distributed errors: K² [Σψ²/(m - n)] / [Σψ'/m]² (JᵀJ)⁻¹, K = 1
// + (n/m) var(ψ')/(mean ψ')². It becomes σ² (JᵀJ)⁻¹ as the scale grows. With `absolute_sigma` it is the same
// for normal errors of the given sigmas, with E ψ²/(E ψ')² in place of the sums; this assumes that there are
// no outliers. For counts it is the inverse of the Fisher information Σ ∇f ∇fᵀ/f. `extrapolated` says that
// the fit used extrapolated differences at its end; then these rows use them, too.
RowStatistics row_statistics(RowModel& rows, const ResidualForm& form, std::span<const double> x,
                             bool absolute_sigma, const Parallelism& parallelism,
                             std::span<const int> at_bound = {}, bool extrapolated = false);
class DenseEvaluator;
RowStatistics row_statistics(DenseEvaluator& evaluator, const ResidualForm& form, std::span<const double> x,
                             bool absolute_sigma, std::span<const int> at_bound = {});

// Returns E ψ²/(E ψ')² for standard normal residuals, which is 1 / efficiency of the loss.
double normal_variance(const Loss& loss);

}  // namespace nlsq::inline v0
