// Corrects steps under a robust loss for its curvature. J̃ᵀJ̃ of the transformed residuals
// (residual_form.hpp) weights a row by ρ'² z/ρ. The cost's own curvature has the smaller weight ρ' + 2ρ'' z
// (B. Triggs et al., Bundle Adjustment: A Modern Synthesis, 2000, section 4.3). Gauss-Newton steps are then
// too short. If residuals and J are independent, they are so by the same factor in all directions, and
// convergence is linear. DenseEvaluator uses it.
#pragma once

#include "dense/evaluator.hpp"

#include <nlsq/loss.hpp>
#include "rows/row_model.hpp"

#include <span>

namespace nlsq::inline v0 {

// Scales JᵀJ of `at`, linearized at x, by that factor, which is measured on up to some thousand rows. It does
// so only near a minimum. Far from a minimum, many rows lie in the tail of the loss, where the cost's own
// curvature is zero or negative, and J̃ᵀJ̃ gives better steps. Cost and gradient do not change.
void correct_curvature(const RowModel& rows, std::span<const double> x, Linearization& at);

// Holds the weights of a row: `taken` is its weight in J̃ᵀJ̃, from which steps are computed, and `exact` is
// its weight in the cost's own curvature. `finished` is the transformed residual.
struct CurvatureWeights {
  double taken = 1, exact = 1;
};
CurvatureWeights curvature_weights(double finished, const Loss& loss);

}  // namespace nlsq::inline v0
