// curve_fit: fits a curve y_i ~ f(x_i, p). It minimizes ½ Σ ρ(r_i²) with r_i = (f(x_i, p) - y_i) / sigma_i;
// ρ(s) = s unless a loss is given.
#pragma once

#include <nlsq/callable.hpp>
#include <nlsq/columns.hpp>
#include <nlsq/export.hpp>
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

// The result of curve_fit. n is the number of the model's parameters.
struct FitResult {
  std::vector<std::string> parameter_names;
  // n values in the model's order, fixed ones included; in units of the model
  std::vector<double> parameters;
  // n values; 0 for fixed parameters, NaN for those on a bound and those that the data do not determine
  std::vector<double> standard_errors;
  Matrix covariance;        // n x n; NaN as above
  std::vector<bool> fixed;  // n flags; false for tied parameters
  // n flags: true for a free parameter on a bound. All statistics of the other parameters take it as fixed
  // there.
  std::vector<bool> at_bound;
  // n flags: true for a linear parameter that was eliminated during the fit (options.variable_projection)
  std::vector<bool> eliminated;
  std::vector<double> guess;  // the n values at which the iteration started
  std::size_t rows = 0;
  std::ptrdiff_t dof = 0;   // rows - free parameters that the data determine, without those on bounds
  double rss = 0;           // Σ (weighted residual)² without a robust loss; for counts the deviance
  double chi2_reduced = 0;  // rss / dof; NaN without degrees of freedom
  // 1 - rss / weighted total sum of squares; for counts with the deviance of a constant; NaN for constant y.
  // With errors in x, both sums divide the square of each row by its effective variance in this fit.
  double r_squared = 0;
  // AIC and BIC for Gaussian errors with unknown variance; NaN for rss = 0. For counts they are known up to a
  // constant that depends on the data alone. With errors in x they include Σ ln of the effective variances
  // of the rows, which differ between models. NaN under a robust loss.
  double aic = 0, bic = 0;
  bool errors_in_x = false;  // true if options.sigma_x has a column
  Loss loss;                 // the loss that was minimized; the summary's final_cost is ½ Σ ρ
  std::size_t beyond = 0;    // rows whose weighted residual exceeds the scale of a robust loss
  // for each parameter the expression it is tied to; empty for free ones
  std::vector<std::string> ties;
  std::vector<std::string> warnings;
  // With options.starts > 1, the minima that were found; otherwise empty. The result is first, the others
  // follow by cost, uncertified ones last.
  std::vector<FitMinimum> minima;
  Summary summary;  // of the start that led here

  // Returns the correlation of parameters i and j; NaN where undefined.
  NLSQ_API double correlation(std::size_t i, std::size_t j) const;
  bool success() const { return is_success(summary.verdict); }
};

using NamedValues = std::vector<std::pair<std::string, double>>;

// Fits a formula with the predictor `x`, or x1 ... xk for several. `x` and `y` have one entry per row.
// Parameters without a starting value start at 1; the fit solves for linear ones. If this fit is no success,
// or explains less than 95 % of y, other starts are looked for in the ranges of the data. Here and below, NaN
// or Inf in the data, sizes that disagree and fewer rows than free parameters throw DataError. Options, names
// and starting values that break a rule throw ValidationError, and a formula that does not parse
// FormulaError. Exceptions of a callable pass through. A fit that does not converge is no error: see
// FitResult::success().
NLSQ_API FitResult curve_fit(std::string_view formula, const Columns& x, const Column& y,
                             const NamedValues& p0 = {}, const FitOptions& options = {});
// Fits a parsed formula. Its predictors have the names with which it was parsed, and it may have a left side,
// which is a function of the response.
NLSQ_API FitResult curve_fit(const Formula& formula, const Columns& x, const Column& y,
                             const NamedValues& p0 = {}, const FitOptions& options = {});
// Fits a built-in model. It guesses the starting values that p0 does not name.
NLSQ_API FitResult curve_fit(const Model& model, const Columns& x, const Column& y,
                             const NamedValues& p0 = {}, const FitOptions& options = {});
// Fits a prepared model. The results are the same up to rounding, without the time for reading and compiling
// the model. If p0 is given by name, a built-in model guesses the values that it does not name; other
// parameters start as those of a formula, and so do those of a callable. If p0 is given by position, it must
// have one value for each parameter.
NLSQ_API FitResult curve_fit(const PreparedModel& model, const Columns& x, const Column& y,
                             const NamedValues& p0 = {}, const FitOptions& options = {});
NLSQ_API FitResult curve_fit(const PreparedModel& model, const Columns& x, const Column& y,
                             const std::vector<double>& p0, const FitOptions& options = {});
// Fits a type-erased callable (see make_model_function).
NLSQ_API FitResult curve_fit(const ModelFunction& model, const Columns& x, const Column& y,
                             const std::vector<double>& p0, const FitOptions& options = {});

// A callable f(x, p) that is not type-erased yet, and is neither a formula nor a model.
template <class F>
concept Callable = !std::convertible_to<F, std::string_view> && !std::convertible_to<F, const Formula&> &&
                   !std::convertible_to<F, const Model&> && !std::convertible_to<F, const ModelFunction&> &&
                   !std::convertible_to<F, const PreparedModel&>;

// Fits a callable of one predictor: f(x, p), where x is a number and p is indexed p[0], p[1] ... The types
// of x and of p may be template parameters, so that f can be recorded or differentiated. Otherwise f takes
// doubles, and derivatives are computed by differences.
template <Callable F>
FitResult curve_fit(F model, const Column& x, const Column& y, const std::vector<double>& p0,
                    const FitOptions& options = {}) {
  return curve_fit(make_model_function(std::move(model)), Columns(x), y, p0, options);
}

// Fits a callable of several predictors: f(x, p) with x[0], x[1] ...
template <Callable F>
FitResult curve_fit(F model, const std::vector<Column>& x, const Column& y, const std::vector<double>& p0,
                    const FitOptions& options = {}) {
  return curve_fit(make_model_function(std::move(model), static_cast<int>(x.size())), Columns(x), y, p0,
                   options);
}

// Fits rows from a source (generated or in a file). Its columns are the predictors, then y, and then sigma if
// it has one column more.
NLSQ_API FitResult curve_fit(const ModelFunction& model, std::shared_ptr<const RowSource> rows,
                             const std::vector<double>& p0, const FitOptions& options = {});
NLSQ_API FitResult curve_fit(const Formula& formula, std::shared_ptr<const RowSource> rows,
                             const NamedValues& p0 = {}, const FitOptions& options = {});

}  // namespace nlsq::inline v0
