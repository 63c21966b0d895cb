// Sums over the rows of a fit with errors in x, whose variances depend on the parameters. Statistics and the
// search for starting values use them.
#pragma once

#include "fit/curve.hpp"

#include <memory>
#include <span>

namespace nlsq::inline v0 {

struct EffectiveSums {
  double total_squares = 0;  // of the fitted quantity about its mean, both weighted by 1/s²
  double log_variances = 0;  // Σ ln s²
};

// Computes the sums with the effective variances s² = sigma² + Σ (∂f/∂x_k)² sigma_x[k]² at x, the values of
// the free parameters. The curve has errors in x. Reads all rows.
EffectiveSums effective_sums(const Curve& curve, std::span<const double> x);

// Returns a source that has the effective standard deviation of a row in the place of its residual.
std::shared_ptr<ResidualSource> effective_deviation(const Curve& curve);

}  // namespace nlsq::inline v0
