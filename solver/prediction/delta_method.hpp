// The delta method computes the variance of a function of fitted parameters from its derivatives and the
// covariance of the fit. Predictions and derived quantities use it.
#pragma once

#include <nlsq/curve_fit.hpp>

#include <span>
#include <vector>

namespace nlsq::inline v0 {

// Says why a variance is not a number.
enum class DeltaState : std::uint8_t {
  known,
  not_finite,    // a derivative is not finite
  no_scatter,    // the fit has no covariance: no degrees of freedom, or residuals of zero
  undetermined,  // it depends on a parameter that the data do not determine
  lost_digits,   // rounding of the covariance is as large as the variance
};

// The text that results contain if a variance is `held`.
inline constexpr const char* kHeldNote = "a parameter on a bound is taken as fixed there";
// The note on a derived quantity that depends on fitted parameters and has no slope at the estimate.
inline constexpr const char* kFlatNote =
    "its derivative is 0 at the estimate, so this error does not show how it varies: use the bootstrap";
inline constexpr const char* kHeldBand =
    "the curve depends on a parameter on a bound, which is taken as fixed there";

struct DeltaVariance {
  double value;  // NaN unless known
  DeltaState state = DeltaState::known;
  bool held = false;  // depends on a parameter on a bound, which is taken as fixed there
};

class DeltaMethod {
 public:
  explicit DeltaMethod(const FitResult& fit);

  // Returns the variance of a function with the derivatives `gradient` by all parameters of the model, as if
  // none were tied.
  DeltaVariance variance(std::span<const double> gradient) const;

  // Returns the derivatives by the fitted parameters that are not on a bound.
  std::vector<double> by_moved(std::span<const double> gradient) const;
  // Returns the derivatives by the parameters that were fitted, and includes the effect of ties.
  std::vector<double> by_fitted(std::span<const double> gradient) const;

 private:
  const FitResult& fit_;
  std::vector<int> free_;       // parameters that were fitted, those on a bound included
  std::vector<double> slopes_;  // ∂p/∂p_free, row-major; empty without ties
};

// Returns the quantile with P(|T| <= quantile) = confidence for the estimates of this fit, or NaN without
// degrees of freedom.
double interval_quantile(const FitResult& fit, const FitOptions& options, double confidence);
// Throws ValidationError unless 0 < confidence < 1.
void check_confidence(double confidence);

// Holds the triangular factor of the rows of J, computed by Givens rotations. A variance that is computed
// from this factor loses half as many digits by correlations as one that is computed from the covariance.
// predict() uses the factor where the covariance is not accurate enough.
class RowFactor {
 public:
  // Reads the data of the fit: x, and the sigma of the options. Not for fits with a loss, errors in x or
  // sigma_matrix.
  RowFactor(const PreparedModel& model, const Columns& x, const FitResult& fit, const FitOptions& options,
            const DeltaMethod& delta);

  // Returns the variance of a function with the derivatives `gradient` by all parameters, or NaN if it has
  // lost its digits here, too.
  double variance(std::span<const double> gradient) const;

 private:
  void add_row(std::vector<double>& row);

  const DeltaMethod& delta_;
  double scatter_;         // variance of a residual
  std::vector<double> R_;  // upper triangle, row-major
  std::size_t n_ = 0;
};

}  // namespace nlsq::inline v0
