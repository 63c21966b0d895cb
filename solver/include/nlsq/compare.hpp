// compare: ranks models that were fitted to the same data, and tests those that contain each other.
//
//   const nlsq::ModelComparison c = nlsq::compare({"exp", "biexp", "stretched_exp"}, x, y);
//   if (c.has_best()) use(c.models.front().fit->parameters);
//
// Models are ranked by AICc = AIC + 2k(k+1)/(m-k-1), with m rows. k is the number of free parameters that
// the data determine, plus one for the unknown variance of the errors; for counts k is that number alone. AIC
// and BIC are those of FitResult.
#pragma once

#include <nlsq/curve_fit.hpp>
#include <nlsq/export.hpp>
#include <nlsq/formula.hpp>
#include <nlsq/models.hpp>

#include <optional>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Says how two models are related, as far as it is known.
enum class Nesting : std::uint8_t {
  unknown,     // the table of built-in models does not contain the pair
  same_curve,  // they describe the same curves by other parameters
  nested,      // the first is the second with parameters fixed at values
  // The first is the second without a part, whose other parameters then have no effect, or with a parameter
  // on the edge of its range. In this case the distribution of the test is not exact, not even for many rows.
  nested_irregular,
};

// Returns whether and how `smaller` is nested in `larger`, by a table of the built-in models. Sums of models
// are compared term by term.
NLSQ_API Nesting nesting(const Model& smaller, const Model& larger);

// Returns the built-in model that the formula is equivalent to, or null if there is none.
NLSQ_API const Model* known_model(const Formula& formula);

// Returns AIC corrected for few rows, as above. Returns NaN without enough rows, without residuals, and under
// a robust loss.
NLSQ_API double aicc(const FitResult& fit);
// Returns the probability of a χ² at least as large as rss if the model is right. None unless the sigmas are
// absolute, and none for counts, whose deviance has no χ² distribution unless all counts are large.
NLSQ_API std::optional<double> p_value(const FitResult& fit, bool absolute_sigma);

// Describes one model of a comparison and its fit.
struct ModelFit {
  std::string name;
  const Model* known = nullptr;  // the built-in model or the sum of models that it is equivalent to; else
                                 // null
  std::optional<FitResult> fit = std::nullopt;
  std::string error = {};  // why there is no fit
  // The following are set by rank_models.
  int parameters = 0;  // free ones that the data determine, those on a bound included
  double aicc = 0;     // NaN if there are too few rows, or no residual
  double weight = 0;   // Akaike's weight, of the models with a certified minimum; otherwise NaN

  bool success() const { return fit && fit->success(); }
};

// Describes the test of a model against one that contains it. A small p-value is evidence for the larger
// model.
struct NestedTest {
  std::size_t smaller = 0, larger = 0;  // places in ModelComparison::models
  // With unknown variance the statistic is F = ((rss1 - rss2)/(k2 - k1)) / (rss2/(m - k2)), with `dof` and
  // `dof_larger` degrees of freedom. With known variance (absolute sigma, counts) it is rss1 - rss2, which
  // follows χ² with `dof` degrees of freedom. There is no test with errors in x, because the models then give
  // the rows different variances.
  bool chi_square = false;
  double statistic = 0;
  double dof = 0, dof_larger = 0;
  double p_value = 0;        // NaN if it is undefined; then `note` has the reason
  bool approximate = false;  // Nesting::nested_irregular
  std::string note;
};

struct ModelComparison {
  // Models with a certified minimum by AICc, then those whose AICc is undefined, then the failures.
  std::vector<ModelFit> models;
  std::vector<NestedTest> tests;
  std::vector<std::pair<std::size_t, std::size_t>> unknown;  // pairs that are not known to be nested
  std::vector<std::string> warnings;

  bool has_best() const { return !models.empty() && models.front().success(); }
};

// Ranks fits of different models to the same data with the same options. Throws ValidationError if a fit has
// a robust loss, which is no likelihood, or if fits differ in their rows or their loss, or in whether x has
// errors.
NLSQ_API ModelComparison rank_models(std::vector<ModelFit> fits, bool absolute_sigma = false);
// Does the same with the values that were fitted and the options of the fits. Residuals that are no larger
// than the last digits of y count as none: such a model is exact, and criteria and tests would only compare
// rounding errors.
NLSQ_API ModelComparison rank_models(std::vector<ModelFit> fits, const Column& y, const FitOptions& options);

// Fits each model (a built-in name, a sum of models, or a formula) and ranks them. A model that cannot be
// fitted is listed with its error. Throws ValidationError or FormulaError for a text that is no model.
// Starting values, bounds, fixed and tied parameters of the options apply to every model, so these must exist
// in each model.
NLSQ_API ModelComparison compare(const std::vector<std::string>& models, const Columns& x, const Column& y,
                                 const FitOptions& options = {});

}  // namespace nlsq::inline v0
