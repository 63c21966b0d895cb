// The triangular factor of the rows of J: a variance from it loses half as many digits to correlations as one
// from the covariance. predict() uses it where the covariance is not good enough.
#pragma once

#include "prediction/delta_method.hpp"

#include <nlsq/curve_fit.hpp>

#include <span>
#include <vector>

namespace nlsq::inline v0 {

class RowFactor {
 public:
  // Reads the data of the fit: x, and the sigma of the options. For fits without a loss, errors in x and
  // sigma_matrix.
  RowFactor(const PreparedModel& model, const Columns& x, const FitResult& fit, const FitOptions& options,
            const DeltaMethod& delta);

  // The variance of a function with the derivatives `gradient` by all parameters; NaN if it has lost its
  // digits here, too.
  double variance(std::span<const double> gradient) const;

 private:
  void add_row(std::vector<double>& row);

  const DeltaMethod& delta_;
  double scatter_;         // variance of a residual
  std::vector<double> R_;  // upper triangle, row-major
  std::size_t n_ = 0;
};

}  // namespace nlsq::inline v0
