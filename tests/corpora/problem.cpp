// Repeats the rows of problems, and fits them.
#include "problem.hpp"

namespace problems {

Problem repeated(const Problem& problem, std::size_t rows) {
  Problem out = problem;
  const std::size_t m = problem.rows(), copies = (rows + m - 1) / m;
  const auto repeat = [&](std::vector<double>& column) {
    const std::vector<double> once = column;
    column.reserve(copies * once.size());
    for (std::size_t k = 1; k < copies; ++k) column.insert(column.end(), once.begin(), once.end());
  };
  for (auto& column : out.x) repeat(column);
  repeat(out.y);
  if (!out.sigma.empty()) repeat(out.sigma);
  return out;
}

nlsq::Formula parsed(const Problem& problem) {
  nlsq::FormulaOptions options;
  options.predictors = problem.predictors;
  return nlsq::parse_formula(problem.equation, options);
}

nlsq::FitResult fit(const Problem& problem, std::string_view policy, nlsq::FitOptions options) {
  options.precision = nlsq::PrecisionPolicy::parse(policy);
  if (!problem.sigma.empty()) options.sigma = problem.sigma;
  const std::vector<nlsq::Column> x(problem.x.begin(), problem.x.end());
  const nlsq::Formula formula = parsed(problem);
  if (!problem.double_only) return nlsq::curve_fit(formula, x, problem.y, problem.p0, options);
  options.parameter_names = formula.parameters;
  std::vector<double> start;
  for (const std::string& name : formula.parameters) {
    start.push_back(1);
    for (const auto& [given, value] : problem.p0) {
      if (given == name) start.back() = value;
    }
  }
  nlsq::ModelFunction function;
  function.predictors = static_cast<int>(problem.predictors.size());
  function.value = [&formula](const double* row, std::span<const double> p) {
    return formula.evaluate({row, formula.predictors.size()}, p);
  };
  return nlsq::curve_fit(function, x, problem.y, start, options);
}

}  // namespace problems
