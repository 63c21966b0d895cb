// Implements the components of a fitted sum of models.
#include "report/components.hpp"

#include "table/block_evaluator.hpp"

#include <nlsq/formula.hpp>

#include <algorithm>

namespace nlsq::cli {

namespace {

double parameter(const FitResult& fit, const std::string& name) {
  const auto at = std::ranges::find(fit.parameter_names, name);
  return at == fit.parameter_names.end()
             ? 0.0
             : fit.parameters[static_cast<std::size_t>(at - fit.parameter_names.begin())];
}

}  // namespace

std::vector<Component> components_at(const FitReport& report, const std::vector<Column>& predictors) {
  std::vector<Component> components;
  if (report.model.builtin == nullptr || predictors.empty()) return components;
  FormulaOptions options;
  options.predictors = report.model.formula.predictors;
  for (const ModelTerm& term : report.model.builtin->terms) {
    const Formula formula = parse_formula(term.formula, options);
    std::vector<double> own;
    for (const std::string& name : formula.parameters) own.push_back(parameter(report.fit, name));
    components.push_back({term.label, term.model, std::vector<double>(predictors.front().size())});
    evaluate_rows(formula, predictors, own, components.back().values);
  }
  return components;
}

double shared_constant(const FitReport& report) {
  return report.model.builtin == nullptr || report.model.builtin->terms.empty() ? 0.0
                                                                                : parameter(report.fit, "c");
}

}  // namespace nlsq::cli
