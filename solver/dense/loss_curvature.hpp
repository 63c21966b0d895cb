// The curvature correction for steps under a robust loss. J̃ᵀJ̃ of the transformed residuals
// (residual_form.hpp) weights a row by ρ'² z/ρ. The cost's own curvature has the smaller weight ρ' + 2ρ'' z
// (B. Triggs et al., Bundle Adjustment: A Modern Synthesis, 2000, section 4.3). Gauss-Newton steps are then
// too short by one factor in all directions, as far as residuals and J are independent, and convergence is
// linear. DenseEvaluator uses it.
#pragma once

#include "dense/evaluator.hpp"

#include <nlsq/loss.hpp>
#include "rows/row_model.hpp"

#include <span>

namespace nlsq::inline v0 {

// Scales the normal equations of `at`, linearized at x, by that factor, from up to some thousand rows. Only
// near a minimum: far from one the weights of a tail are none, and J̃ᵀJ̃ is the better guide. Cost and
// gradient stay.
void correct_curvature(const RowModel& rows, std::span<const double> x, Linearization& at);

// Weights of a transformed residual: in J̃ᵀJ̃, and in the cost's curvature.
struct CurvatureWeights {
  double taken = 1, exact = 1;
};
CurvatureWeights curvature_weights(double finished, const Loss& loss);

}  // namespace nlsq::inline v0
