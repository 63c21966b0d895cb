// Statistics of a certified minimum: standard errors, R², information criteria. curve.cpp and batches use it.
#pragma once

#include "dense/row_statistics.hpp"
#include "minimizer/minimizer_request.hpp"

#include <nlsq/column.hpp>
#include <nlsq/curve_fit.hpp>
#include <nlsq/formula.hpp>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Returns the factor that turns (JᵀJ)⁻¹ into the covariance: the residual variance, or 1 if sigma is in units
// of y. Directions that the data do not determine cost no degree of freedom. The factor is NaN without
// degrees of freedom.
double covariance_factor(double rss, std::size_t rows, std::size_t free, int rank, bool absolute_sigma);

// Returns how many of the `free` parameters the data determine, without those on a bound.
std::size_t determined_parameters(const Certificate& certificate, std::size_t free);

// Computes what is fitted in a row, if it is not y itself, from the predictors and y.
using Response = std::function<double(std::span<const double> row)>;
// Returns the left side of a formula, which must outlive the result; empty if there is none.
Response response_of(const Formula& formula);
// Returns the number that the model is fitted to in each row: y, or the left side of the formula if it has
// one.
std::vector<double> responses_of(const Formula& formula, const Columns& x, const Column& y);
// Returns the sum of squares about the mean of the response. The columns of `data` are the predictors, y, and
// sigma if `weighted`.
double total_squares(const RowSource& data, std::size_t predictors, bool weighted, const Response& response);

// Returns 2 Σ y ln(y/ȳ), the deviance of counts about their mean. The counts are column `y` of `data`.
double constant_deviance(const RowSource& data, int y);

// Holds what the warnings of a fit depend on. Every path that stores a fit takes them from warnings_of():
// single fits, batches, lanes, groups and joint fits.
struct WarnedEnd {
  std::span<const std::string> names;               // of all parameters of the model
  std::span<const double> parameters;               // their values
  std::vector<std::size_t> at_bound, undetermined;  // positions among all parameters
  Verdict verdict = Verdict::failed;
  std::ptrdiff_t dof = 0;
  double rss = 0, r_squared = 0;
  bool scale_known = false;   // by absolute sigmas, or because y are counts
  bool lost = false;          // MinimizerResult::lost_parameters
  bool errors_lost = false;   // derivatives by differences have too few digits for standard errors
  bool least_squares = true;  // the loss is linear and x has no errors, so that R² compares with a constant
  std::size_t rows = 0, beyond = 0;  // of a robust loss: all rows, and those beyond its scale
  double scale = 0;                  // of the loss
};
// Returns an end with the verdict and with the parameters that are undetermined or on a bound. `free` lists
// the fitted parameters of the model, in the minimizer's order.
WarnedEnd end_of(const Certificate& certificate, std::span<const int> free);
std::vector<std::string> warnings_of(const WarnedEnd& end);

// Returns the message of a fit in which no more rows are within the scale of the loss than parameters are
// determined (RowStatistics::too_few_within), otherwise an empty text.
std::string message_of_too_few(const RowStatistics& of_rows, std::size_t rows, const Loss& loss);

// Fills covariance, standard errors, dof, rss, R², AIC, BIC and warnings. `free` lists the fitted parameters
// of the model, in the minimizer's order. `of_rows` is null unless the loss is nonlinear. `total` is the sum
// of squares about the mean or, for counts, the deviance of a constant. `log_variances` is Σ ln of the rows'
// variances if these depend on the parameters, because x has errors.
void fill_statistics(FitResult& fit, const MinimizerResult& minimum, const std::vector<int>& free,
                     const Loss& loss, const RowStatistics* of_rows, bool absolute_sigma, double total,
                     std::optional<double> log_variances = std::nullopt);

}  // namespace nlsq::inline v0
