// Parses and evaluates the expressions of derived quantities, and implements derive(): their errors by the
// delta method.
#include "prediction/derived_expressions.hpp"

#include "prediction/delta_method.hpp"
#include "support/constants.hpp"
#include "support/fp_environment.hpp"

#include <nlsq/derived.hpp>
#include <nlsq/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

DerivedExpressions::DerivedExpressions(const std::vector<std::string>& parameters,
                                       const std::vector<std::string>& texts)
    : parameters_(parameters) {
  for (const std::string& text : texts) add(text);
}

std::size_t DerivedExpressions::find(const std::string& name, const std::string& text) const {
  const auto parameter = std::ranges::find(parameters_, name);
  if (parameter != parameters_.end()) return static_cast<std::size_t>(parameter - parameters_.begin());
  const auto earlier = std::ranges::find(quantities_, name, &Quantity::name);
  if (earlier != quantities_.end())
    return parameters_.size() + static_cast<std::size_t>(earlier - quantities_.begin());
  std::vector<std::string> known;
  for (const Quantity& quantity : quantities_) known.push_back(quantity.name);
  throw ValidationError(fmt::format("derived '{}': there is no parameter '{}'; the parameters are {}{}{}",
                                    text, name, fmt::join(parameters_, ", "),
                                    known.empty() ? "" : ", and the quantities derived before are ",
                                    fmt::join(known, ", ")));
}

void DerivedExpressions::add(const std::string& text) {
  const std::size_t equals = text.find('=');
  Quantity made;
  made.name = trimmed(std::string_view(text).substr(0, equals));
  if (equals == std::string::npos || !is_name(made.name)) {
    throw ValidationError(
        fmt::format("derived '{}': write name = expression, as in half_life = log(2)/b", text));
  }
  if (made.name == "pi")
    throw ValidationError(fmt::format("derived '{}': pi is a constant; choose another name", text));
  if (std::ranges::find(parameters_, made.name) != parameters_.end()) {
    throw ValidationError(
        fmt::format("derived '{}': '{}' is a parameter of the model; choose another name", text, made.name));
  }
  if (std::ranges::find(quantities_, made.name, &Quantity::name) != quantities_.end())
    throw ValidationError(fmt::format("derived '{}': '{}' is defined twice", text, made.name));
  made.expression =
      parameter_expression(std::string_view(text).substr(equals + 1), fmt::format("derived '{}'", text));
  for (const std::string& argument : made.expression.formula.parameters)
    made.arguments.push_back(find(argument, text));
  made.steps = with_replaced_parameters(made.expression.formula.steps, [&](std::size_t k) {
    const std::size_t argument = made.arguments[k];
    return argument < parameters_.size() ? std::vector{parameter_step(argument)}
                                         : quantities_[argument - parameters_.size()].steps;
  });
  quantities_.push_back(std::move(made));
}

std::vector<double> DerivedExpressions::argument_values(const Quantity& quantity, std::span<const double> p,
                                                        std::span<const double> earlier) const {
  std::vector<double> out;
  for (const std::size_t k : quantity.arguments)
    out.push_back(k < parameters_.size() ? p[k] : earlier[k - parameters_.size()]);
  return out;
}

std::vector<double> DerivedExpressions::values(std::span<const double> p) const {
  std::vector<double> out;
  for (const Quantity& quantity : quantities_)
    out.push_back(quantity.expression.formula.evaluate({}, argument_values(quantity, p, out)));
  return out;
}

std::vector<std::vector<double>> DerivedExpressions::gradients(std::span<const double> p) const {
  const std::vector<double> all = values(p);
  std::vector<std::vector<double>> out;
  for (const Quantity& quantity : quantities_) {
    const std::vector<double> at = argument_values(quantity, p, all);
    std::vector<double> gradient(parameters_.size(), 0.0);
    for (std::size_t a = 0; a < at.size(); ++a) {
      const double slope =
          evaluate(quantity.expression.formula.graph, quantity.expression.derivatives[a], {}, at);
      const std::size_t k = quantity.arguments[a];
      if (k < parameters_.size()) {
        gradient[k] += slope;
        continue;
      }
      for (std::size_t j = 0; j < gradient.size(); ++j) {
        const double inner = out[k - parameters_.size()][j];
        if (inner != 0) gradient[j] += slope * inner;
      }
    }
    out.push_back(std::move(gradient));
  }
  return out;
}

namespace {

// Returns true if a parameter that was fitted occurs in the expression.
bool has_fitted_parameter(const std::vector<FormulaStep>& steps, const FitResult& fit) {
  return std::ranges::any_of(steps, [&](const FormulaStep& step) {
    return step.op == Op::parameter && !fit.fixed[static_cast<std::size_t>(step.index)];
  });
}

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
    const bool flat = variance.value == 0 && has_fitted_parameter(expressions.steps(k), fit);
    if (flat && q.note.empty()) q.note = kFlatNote;
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
