// Fitting a curve: y_i ~ f(x_i, p). Minimises ½ Σ ρ(r_i²), r_i = (f(x_i, p) - y_i) / sigma_i, ρ(s) = s unless
// a loss is given.
#pragma once

#include <nlsq/callable.hpp>
#include <nlsq/columns.hpp>
#include <nlsq/export.hpp>
#include <nlsq/fit_minimum.hpp>
#include <nlsq/formula.hpp>
#include <nlsq/matrix.hpp>
#include <nlsq/models.hpp>
#include <nlsq/options.hpp>
#include <nlsq/prepared_model.hpp>
#include <nlsq/summary.hpp>

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

struct FitResult {
  std::vector<std::string> parameter_names;
  std::vector<double> parameters;  // in the model's order, fixed ones included
  std::vector<double>
      standard_errors;         // 0 for fixed; NaN where the data do not determine one, or a bound holds it
  Matrix covariance;           // parameters x parameters; NaN as above
  std::vector<bool> fixed;     // not of tied ones
  std::vector<bool> at_bound;  // free, and on a bound: taken as held there in all that is said of the others
  std::vector<bool> eliminated;  // linear, and solved for as the others went (options.variable_projection)
  std::vector<double> guess;     // where the iteration started
  std::size_t rows = 0;
  std::ptrdiff_t dof = 0;   // rows - free parameters, those at bounds not counted
  double rss = 0;           // Σ (weighted residual)², a robust loss not applied; of counts the deviance
  double chi2_reduced = 0;  // rss / dof; NaN without degrees of freedom
  double r_squared =
      0;  // 1 - rss / weighted total sum of squares (of counts: deviance of a constant); NaN for constant y
  double aic = 0, bic = 0;  // of Gaussian errors with unknown variance, NaN for rss = 0; of counts but for a
                            // constant of the data; NaN under a robust loss
  Loss loss;                // that was minimised; final_cost of the summary is ½ Σ ρ
  std::size_t beyond = 0;   // rows whose weighted residual is larger than the scale of a robust loss
  std::vector<std::string> ties;  // by parameter, the expression it follows; empty for others
  std::vector<std::string> warnings;
  // options.starts > 1: the minima found, this one first, the others by cost, uncertified ones last. Else
  // empty.
  std::vector<FitMinimum> minima;
  Summary summary;  // of the start that led here

  // Correlation of two parameters; NaN where undefined.
  NLSQ_API double correlation(std::size_t i, std::size_t j) const;
  bool success() const { return is_success(summary.verdict); }
};

using NamedValues = std::vector<std::pair<std::string, double>>;

// A formula, with `x` (or x1 ... xk for several predictors) as predictors. Parameters without a
// starting value start at 1; linear ones are solved for.
NLSQ_API FitResult curve_fit(std::string_view formula, const Columns& x, const Column& y,
                             const NamedValues& p0 = {}, const FitOptions& options = {});
// A parsed formula: predictors by the names it was parsed with, a left side over the response allowed.
NLSQ_API FitResult curve_fit(const Formula& formula, const Columns& x, const Column& y,
                             const NamedValues& p0 = {}, const FitOptions& options = {});
// A built-in model; a first guess is found for what p0 does not name.
NLSQ_API FitResult curve_fit(const Model& model, const Columns& x, const Column& y,
                             const NamedValues& p0 = {}, const FitOptions& options = {});
// A model made ready before: the same results to rounding, without the cost of reading and compiling it. By
// names a first guess is found for what p0 leaves out where the model is a built-in one, else such parameters
// start at 1.
NLSQ_API FitResult curve_fit(const PreparedModel& model, const Columns& x, const Column& y,
                             const NamedValues& p0 = {}, const FitOptions& options = {});
NLSQ_API FitResult curve_fit(const PreparedModel& model, const Columns& x, const Column& y,
                             const std::vector<double>& p0, const FitOptions& options = {});
// A callable already erased (see make_model_function).
NLSQ_API FitResult curve_fit(const ModelFunction& model, const Columns& x, const Column& y,
                             const std::vector<double>& p0, const FitOptions& options = {});

// A callable f(x, p) that is not erased yet, and no formula or model either.
template <class F>
concept Callable = !std::convertible_to<F, std::string_view> && !std::convertible_to<F, const Formula&> &&
                   !std::convertible_to<F, const Model&> && !std::convertible_to<F, const ModelFunction&> &&
                   !std::convertible_to<F, const PreparedModel&>;

// One predictor: f(x, p) with x a number, p[0], p[1] ... generic in both scalars, or in double alone.
template <Callable F>
FitResult curve_fit(F model, const Column& x, const Column& y, const std::vector<double>& p0,
                    const FitOptions& options = {}) {
  return curve_fit(make_model_function(std::move(model)), Columns(x), y, p0, options);
}

// Several predictors: f(x, p) with x[0], x[1] ...
template <Callable F>
FitResult curve_fit(F model, const std::vector<Column>& x, const Column& y, const std::vector<double>& p0,
                    const FitOptions& options = {}) {
  return curve_fit(make_model_function(std::move(model), static_cast<int>(x.size())), Columns(x), y, p0,
                   options);
}

// Rows from a source (generated, filed): columns are the predictors, then y, then sigma where
// `options.sigma` is not used and the source has one column more.
NLSQ_API FitResult curve_fit(const ModelFunction& model, std::shared_ptr<const RowSource> rows,
                             const std::vector<double>& p0, const FitOptions& options = {});
NLSQ_API FitResult curve_fit(const Formula& formula, std::shared_ptr<const RowSource> rows,
                             const NamedValues& p0 = {}, const FitOptions& options = {});

}  // namespace nlsq::inline v0
