// What the rows say of a minimum under a loss: one more pass over them, in f64, by rows made for it
// (residual_form.hpp).
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
  Matrix covariance;  // of the free parameters; NaN where the data determine nothing, and without degrees of
                      // freedom
  double rss = 0;     // Σ r², r the weighted residual; of counts Pearson's Σ (f - y)²/f
  std::size_t beyond = 0;  // rows with |r| above the scale of a robust loss
};

// Whether standard errors of this form are made here.
inline bool has_row_statistics(const ResidualForm& form) { return !form.loss.is_linear(); }

// `rows`: of `form` with for_covariance. `x`: free parameters, `at_bound` those of them that a bound holds:
// the covariance is of the others.
//
// Robust losses: an M-estimator's covariance with the correction for small samples of P. J. Huber, Robust
// Statistics, 1981, eq. 7.6.5, for errors that are distributed alike: K² [Σψ²/(m - n)] / [Σψ'/m]² (JᵀJ)⁻¹, K
// = 1 + (n/m) var(ψ')/(mean ψ')². It becomes σ² (JᵀJ)⁻¹ as the scale grows. `absolute_sigma`: the same for
// normal errors of the sigmas given, E ψ²/(E ψ')² in place of the sums, and so without outliers. Counts: the
// inverse of the Fisher information Σ ∇f ∇fᵀ/f.
RowStatistics row_statistics(RowModel& rows, const ResidualForm& form, std::span<const double> x,
                             bool absolute_sigma, const Parallelism& parallelism,
                             std::span<const int> at_bound = {});
class DenseEvaluator;
RowStatistics row_statistics(DenseEvaluator& evaluator, const ResidualForm& form, std::span<const double> x,
                             bool absolute_sigma, std::span<const int> at_bound = {});

// E ψ²/(E ψ')² for standard normal residuals: 1 over the efficiency of the loss.
double normal_variance(const Loss& loss);

}  // namespace nlsq::inline v0
