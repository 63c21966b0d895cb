// Evaluates a model and its derivatives at the parameters of a fit, for bands and profiles.
#pragma once

#include <nlsq/evaluate.hpp>

namespace nlsq::inline v0 {

struct FittedSlopes {
  Evaluation at;  // values and derivatives by all parameters, in f64
  // For a model that is only called: how much the derivatives change if their steps are eight times as long.
  // Both rounding errors and curvature show here. It is empty for exact derivatives.
  Matrix change;
};

// Evaluates at fit.parameters. `options` are those of the fit. A model that is only called is differentiated
// with steps in proportion to the standard errors of the fit. `compare` asks for `change`.
FittedSlopes fitted_slopes(const PreparedModel& model, const Columns& x, const FitResult& fit,
                           const FitOptions& options, bool compare = false,
                           const Parallelism& parallelism = {});

}  // namespace nlsq::inline v0
