// certify: judges parameters that were found elsewhere. It makes no step.
//
//   const nlsq::FitResult judged = nlsq::certify("a*exp(-b*x)", x, y, {{"a", 1.2}, {"b", 0.3}});
//   if (!judged.success()) std::puts(judged.summary.message.c_str());
//
// The result has the parameters given, and the certificate and all statistics at them, computed in f64.
// success() is true if the optimum is at most options.tau standard errors away, or if the distance is within
// rounding. Certificate::decrement_sigma is the distance. To see which parameter would move, fit from there.
#pragma once

#include <nlsq/curve_fit.hpp>
#include <nlsq/export.hpp>
#include <nlsq/problem.hpp>

#include <string_view>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

// Judges `parameters`. Every parameter that is not tied must have a value; otherwise ValidationError names
// those that have none. Only options that define the problem have an effect: sigma, sigma_x, loss, bounds,
// fixed, ties, and tau. The options of the iteration, such as xtol and gtol, have no effect, because answers
// of other programs have fewer digits. The distance in standard errors decides, and the parameters as a whole
// may not move by more than 0.1 %.
NLSQ_API FitResult certify(const Formula& formula, const Columns& x, const Column& y,
                           const NamedValues& parameters, const FitOptions& options = {});
NLSQ_API FitResult certify(std::string_view formula, const Columns& x, const Column& y,
                           const NamedValues& parameters, const FitOptions& options = {});
NLSQ_API FitResult certify(const Model& model, const Columns& x, const Column& y,
                           const NamedValues& parameters, const FitOptions& options = {});
NLSQ_API FitResult certify(const ModelFunction& model, const Columns& x, const Column& y,
                           const std::vector<double>& parameters, const FitOptions& options = {});

// Judges the parameters of a callable f(x, p) of one predictor, or of several as x[0], x[1] ...
template <Callable F>
FitResult certify(F model, const Column& x, const Column& y, const std::vector<double>& parameters,
                  const FitOptions& options = {}) {
  return certify(make_model_function(std::move(model)), Columns(x), y, parameters, options);
}
template <Callable F>
FitResult certify(F model, const std::vector<Column>& x, const Column& y,
                  const std::vector<double>& parameters, const FitOptions& options = {}) {
  return certify(make_model_function(std::move(model), static_cast<int>(x.size())), Columns(x), y, parameters,
                 options);
}

// Judges the present values of a Problem's parameter blocks, and does not change them. The Summary is that of
// solve() at its end, with the certificate of these values in f64: rank, curvature and bounds are examined as
// there. is_success(summary.verdict) is true if the certificate passes: the optimum is at most options.tau
// standard errors away, and no parameter would move by more than 0.1 % of its size or by tau of its standard
// errors. xtol, gtol and the options of the iteration have no effect. With conjugate gradients (StepSolver)
// the rank is not examined, and the verdict is TOLERANCE at best. Throws ValidationError as solve() does, and
// for a value outside its bounds.
NLSQ_API Summary certify(Problem& problem, const SolverOptions& options = {});

}  // namespace nlsq::inline v0
