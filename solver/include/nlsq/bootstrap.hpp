// bootstrap: computes standard errors and intervals from fits to resampled data (Efron and Tibshirani, An
// Introduction to the Bootstrap, 1993, chapters 6, 9 and 13). It needs no linear approximation of the model.
//
// Each sample is a data set made from the fit, and the model is fitted to it again, from the estimate. The
// standard error of a quantity is the standard deviation of its values, and the interval lies between their
// percentiles. Sample k depends on the seed and on k alone, so the result has the same bits on any number of
// threads.
#pragma once

#include <nlsq/curve_fit.hpp>
#include <nlsq/export.hpp>
#include <nlsq/profile_intervals.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

// Says how a sample is made. f is the fitted curve, e the residuals in units of sigma, m the number of rows
// and n the number of fitted parameters.
enum class BootstrapMethod : std::uint8_t {
  // y* = f + sigma e*, with e* drawn with replacement from the residuals, centered and times √(m/(m - n)).
  // The errors must be alike in all rows, but need not be normal. This is not allowed for counts and errors
  // in x.
  residual,
  // Whole rows are drawn with replacement. Errors may differ by row, and x is random, too.
  cases,
  // y* = f + sigma s N(0, 1), with s² = chi2_reduced, or 1 with absolute sigma; for counts, Poisson numbers
  // of mean f. This is not allowed for errors in x, nor for a robust loss without absolute sigma.
  parametric,
};
NLSQ_API const char* name(BootstrapMethod method) noexcept;  // "residual", "case", "parametric"

struct BootstrapOptions : Parallelism {  // the threads share the samples
  int samples = 1000;                    // at least 2
  BootstrapMethod method = BootstrapMethod::residual;
  std::uint64_t seed = 1;
  double confidence = 0.95;          // in (0, 1)
  std::vector<std::string> derived;  // further quantities, as for derive()
  // Is called by all threads before each sample and in each iteration. Once it returns true, fits in progress
  // end and are not counted, and no further samples are drawn. If it is empty, all samples are drawn.
  std::function<bool()> stop;
  // Is called by any thread when `more` further samples of `all` have been fitted. It may be empty.
  std::function<void(std::size_t more, std::size_t all)> progress;
};

// Holds the results of the samples for one quantity.
struct BootstrapEstimate {
  std::string name;
  double estimate = 0;        // of the fit
  double bias = 0;            // mean of the samples - estimate
  double standard_error = 0;  // standard deviation of the samples
  double ci_low = 0, ci_high = 0;
};

struct Bootstrap {
  BootstrapMethod method = BootstrapMethod::residual;
  int samples = 0;   // drawn
  int failures = 0;  // of these, fits that ended without a minimum or with undetermined parameters
  std::uint64_t seed = 1;
  double confidence = 0.95;
  std::vector<BootstrapEstimate> parameters;  // of the model, in its order
  std::vector<BootstrapEstimate> derived;
  // One row for each fit that succeeded, in the order of samples: the parameters, then the derived
  // quantities.
  Matrix values;
  std::vector<std::string> warnings;
};

// Returns the method that suits a fit: cases with errors in x, parametric for counts and without degrees of
// freedom, otherwise residual.
NLSQ_API BootstrapMethod suitable_method(const FitResult& fit, const FitOptions& options = {});

// Makes and fits the samples. The data and `options` are those of the fit. Throws ValidationError for a fit
// without a certified minimum or with undetermined parameters, for options that break a rule, for a method
// that the fit does not allow (above), and for a covariance matrix of y. Formulas and built-in models are
// fitted by several threads, a callable by one after the other.
NLSQ_API Bootstrap bootstrap(const PreparedModel& model, const Columns& x, const Column& y,
                             const FitResult& fit, const FitOptions& options = {},
                             const BootstrapOptions& bootstrap = {});
template <class M>
requires(std::convertible_to<const M&, std::string_view> || std::convertible_to<const M&, const Formula&> ||
         std::convertible_to<const M&, const Model&>) Bootstrap
    bootstrap(const M& model, const Columns& x, const Column& y, const FitResult& fit,
              const FitOptions& options = {}, const BootstrapOptions& wanted = {}) {
  return bootstrap(detail::prepared(model, x), x, y, fit, options, wanted);
}
template <Callable F>
Bootstrap bootstrap(F model, const Column& x, const Column& y, const FitResult& fit,
                    const FitOptions& options = {}, const BootstrapOptions& wanted = {}) {
  return bootstrap(
      PreparedModel(make_model_function(std::move(model)), Columns(x), fit.parameters, fit.parameter_names),
      Columns(x), y, fit, options, wanted);
}
// Fits a callable of several predictors: f(x, p) with x[0], x[1] ...
template <Callable F>
Bootstrap bootstrap(F model, const std::vector<Column>& x, const Column& y, const FitResult& fit,
                    const FitOptions& options = {}, const BootstrapOptions& wanted = {}) {
  return bootstrap(PreparedModel(make_model_function(std::move(model), static_cast<int>(x.size())),
                                 Columns(x), fit.parameters, fit.parameter_names),
                   Columns(x), y, fit, options, wanted);
}

}  // namespace nlsq::inline v0
