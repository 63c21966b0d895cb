// Implements derive(): derived quantities with errors by the delta method.
#include <nlsq/derived.hpp>

#include "prediction/delta_method.hpp"
#include "prediction/derived_expressions.hpp"
#include "support/constants.hpp"
#include "support/fp_environment.hpp"

#include <cmath>

namespace nlsq::inline v0 {

namespace {

const char* reason(DeltaState state, const FitResult& fit) {
  switch (state) {
    case DeltaState::known: return "";
    case DeltaState::not_finite: return "it or a derivative is not finite at the estimate";
    case DeltaState::no_scatter:
      return fit.dof <= 0 ? "there are as many parameters as rows of data" : "the fit has no standard errors";
    case DeltaState::undetermined: return "it depends on a parameter that the data do not determine";
    case DeltaState::lost_digits:
      return "its parameters are so strongly correlated that rounding exceeds its error";
  }
  return "";
}

}  // namespace

std::vector<DerivedQuantity> derive(const FitResult& fit, const std::vector<std::string>& texts,
                                    const FitOptions& options, const DeriveOptions& wanted) {
  const FpEnvironment environment;
  check_confidence(wanted.confidence);
  const DerivedExpressions expressions(fit.parameter_names, texts);
  const std::vector<double> values = expressions.values(fit.parameters);
  const std::vector<std::vector<double>> gradients = expressions.gradients(fit.parameters);
  const double t = interval_quantile(fit, options, wanted.confidence);
  const DeltaMethod delta(fit);
  std::vector<DerivedQuantity> out;
  for (std::size_t k = 0; k < expressions.size(); ++k) {
    DeltaVariance variance{kNaN, DeltaState::not_finite};
    if (std::isfinite(values[k])) variance = delta.variance(gradients[k]);
    DerivedQuantity q;
    q.name = expressions.name(k);
    q.expression = expressions.text(k);
    q.value = values[k];
    q.standard_error = std::sqrt(variance.value);
    q.ci_low = q.value - t * q.standard_error;
    q.ci_high = q.value + t * q.standard_error;
    q.note = reason(variance.state, fit);
    if (variance.held && q.note.empty()) q.note = kHeldNote;
    out.push_back(std::move(q));
  }
  return out;
}

void check_derived(const std::vector<std::string>& parameters, const std::vector<std::string>& texts) {
  const FpEnvironment environment;
  const DerivedExpressions expressions(parameters, texts);
}

DerivedQuantity derive(const FitResult& fit, std::string_view text, const FitOptions& options,
                       const DeriveOptions& wanted) {
  return derive(fit, std::vector<std::string>{std::string(text)}, options, wanted).front();
}

}  // namespace nlsq::inline v0
