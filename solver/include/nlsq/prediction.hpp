// predict: computes the fitted curve at any x, with its standard error, its confidence band and its
// prediction band.
//
// The standard error follows from the delta method: var f(x) = gᵀ C g, where g are the derivatives of the
// model by the fitted parameters and C is their covariance (Bates and Watts, Nonlinear Regression Analysis
// and Its Applications, 1988, section 2.3). The confidence band is f(x) ± t √var f(x). It covers the curve at
// one x with the chosen probability, not the whole curve at once. t is the quantile of Student's distribution
// with fit.dof degrees of freedom; with absolute sigma and for counts it is the normal quantile. This is the
// band of lmfit's eval_uncertainty. The prediction band is f(x) ± t √(var f(x) + v), where v is the variance
// of one new observation; it covers this observation:
//
//   without sigma         v = chi2_reduced, the scatter of the fit
//   relative sigma        v = chi2_reduced sigma², absolute sigma: v = sigma², where sigma is that of the new
//                         observation. If options.sigma is not given, the sigma of the data is used if it is
//                         the same in all rows. Otherwise the prediction band is NaN.
//   counts                v = f(x). The normal approximation is poor for means below 10. The band ends at 0.
//   a robust loss         with absolute sigma as above; it leaves outliers out. Otherwise NaN, since the
//                         scatter of the fit contains the outliers.
//
// Fixed parameters have no variance, and a parameter on a bound is taken as fixed there. The effect of ties
// is included. The bands use the covariance of the fit, so it decides how sigma, a loss and errors in x
// enter. The x of a prediction is taken as exact. With a left side, log(y) = a - b*x, all columns are in the
// units of the left side. Errors of new observations are independent of those of the data, also with
// sigma_matrix.
#pragma once

#include <nlsq/curve_fit.hpp>
#include <nlsq/export.hpp>
#include <nlsq/profile_intervals.hpp>

#include <concepts>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

// Selects what is computed.
struct PredictionOptions : Parallelism {
  double confidence = 0.95;  // probability that a band covers, in (0, 1)
  // Standard deviations of the new observations, one for each row of x; only for a fit with sigma.
  Column sigma;
  // The predictors of the data of the fit. If the parameters are very strongly correlated, the covariance may
  // have too few digits for a variance. Then the variance is computed from these data, or is NaN if they are
  // not given. Not used with a loss, errors in x and sigma_matrix. predict_by_profile has the data anyway.
  std::vector<Column> data;
  int most_fits = 60;  // predict_by_profile: limit on fits for each end of a band
  // Is called after each 4096 rows, and by predict_by_profile in each iteration by all threads. Once it
  // returns true, the remaining bands are NaN. If it is empty, the computation is not stopped.
  std::function<bool()> stop;
};

// Has one entry for each row of x. A band that is not defined there is NaN, and a warning gives the reason:
// no degrees of freedom, a direction that the data do not determine, a model that is not finite.
struct Prediction {
  std::vector<double> fit;             // f(x)
  std::vector<double> standard_error;  // of f(x)
  std::vector<double> confidence_low, confidence_high;
  std::vector<double> prediction_low, prediction_high;
  double confidence = 0.95;
  double quantile = 0;  // the quantile t above
  int fits = 0;         // predict_by_profile: fits made
  std::vector<std::string> warnings;
  std::size_t size() const { return fit.size(); }
};

// Predicts at x from `fit`, which was made with the same model and with `options`. Throws ValidationError for
// a confidence outside (0, 1), a sigma of another length, and a fit of other parameters, and DataError for x
// that is empty or not finite and for columns that disagree.
NLSQ_API Prediction predict(const PreparedModel& model, const Columns& x, const FitResult& fit,
                            const FitOptions& options = {}, const PredictionOptions& prediction = {});

// The overloads below do the same for all models of curve_fit: a formula, a built-in model ...
template <class M>
requires(std::convertible_to<const M&, std::string_view> || std::convertible_to<const M&, const Formula&> ||
         std::convertible_to<const M&, const Model&>) Prediction
    predict(const M& model, const Columns& x, const FitResult& fit, const FitOptions& options = {},
            const PredictionOptions& prediction = {}) {
  return predict(detail::prepared(model, x), x, fit, options, prediction);
}

// ... or a callable f(x, p). x is a number, or x[0], x[1] ... for several predictors.
template <Callable F>
Prediction predict(F model, const Column& x, const FitResult& fit, const FitOptions& options = {},
                   const PredictionOptions& prediction = {}) {
  return predict(
      PreparedModel(make_model_function(std::move(model)), Columns(x), fit.parameters, fit.parameter_names),
      Columns(x), fit, options, prediction);
}
template <Callable F>
Prediction predict(F model, const std::vector<Column>& x, const FitResult& fit,
                   const FitOptions& options = {}, const PredictionOptions& prediction = {}) {
  return predict(PreparedModel(make_model_function(std::move(model), static_cast<int>(x.size())), Columns(x),
                               fit.parameters, fit.parameter_names),
                 Columns(x), fit, options, prediction);
}

// Does the same with a confidence band by profile likelihood: at each x it holds the values that the curve
// can have while 2 * cost rises by no more than t² s² (Bates and Watts 1988, section 6.1). It accounts for
// the curvature of the model and need not be symmetric. The prediction band is wider by one observation on
// each side: its distance from the curve is √(d² + t² v), where d is that of the confidence band. x and y are
// the data of the fit, `at` are the points. Each point takes about twelve fits of the data, so use it for
// some dozens of points. A formula is fitted by several threads. Throws ValidationError where
// profile_intervals does, and for counts, errors in x and sigma_matrix.
NLSQ_API Prediction predict_by_profile(const PreparedModel& model, const Columns& x, const Column& y,
                                       const Columns& at, const FitResult& fit,
                                       const FitOptions& options = {},
                                       const PredictionOptions& prediction = {});
template <class M>
requires(std::convertible_to<const M&, std::string_view> || std::convertible_to<const M&, const Formula&> ||
         std::convertible_to<const M&, const Model&>) Prediction
    predict_by_profile(const M& model, const Columns& x, const Column& y, const Columns& at,
                       const FitResult& fit, const FitOptions& options = {},
                       const PredictionOptions& prediction = {}) {
  return predict_by_profile(detail::prepared(model, x), x, y, at, fit, options, prediction);
}

}  // namespace nlsq::inline v0
