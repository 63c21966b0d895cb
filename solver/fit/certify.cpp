// Implements certify(): a fit without iterations, without a better start, and in f64 throughout.
#include <nlsq/certify.hpp>

#include "certificate/doubtful_end.hpp"
#include "certificate/ends_of_fits.hpp"
#include "expression/names.hpp"
#include "fit/fit_setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace nlsq::inline v0 {

FitOptions without_steps(FitOptions options) {
  SolverOptions& of_solver = options;
  of_solver = without_steps(of_solver);
  options.starts = 1;
  options.solve_linear_start = false;
  options.variable_projection = VariableProjection::off;
  options.sampling = Sampling::never;
  return options;
}

void check_values_to_judge(const std::vector<std::string>& names, const NamedValues& given,
                           std::span<const std::string> ties) {
  std::vector<std::string> missing = without_start(names, given);
  std::erase_if(missing, [&](const std::string& name) { return is_tied(ties, name); });
  if (!missing.empty())
    throw ValidationError(
        fmt::format("certify: no value for {}; every parameter needs one", fmt::join(missing, ", ")));
}

namespace {

std::string distance(const FitResult& fit) {
  const double sigmas = fit.summary.certificate.decrement_sigma;
  if (std::isfinite(sigmas)) return fmt::format("the optimum is {:.2g} standard errors away", sigmas);
  return "how far away the optimum is in standard errors is not known, since nothing scatters";
}

}  // namespace

FitResult judged(FitResult fit) {
  Summary& s = fit.summary;
  if (s.termination == Termination::failure) {
    s.message = "not certified: residuals or derivatives at these parameters are not finite or too large";
  } else if (!s.certificate.recheck_passed || s.certificate.governed_by == kDoubtfulEnd ||
             s.certificate.governed_by == kJumps || s.certificate.governed_by == kSaddle) {
    return fit;  // the message describes the error
  } else if (is_success(s.verdict)) {
    s.message = fmt::format("certified by {}: {}", s.certificate.governed_by, distance(fit));
    if (s.verdict == Verdict::rank_deficient) s.message += "; the data do not determine all parameters";
  } else {
    s.message = fmt::format("not a certified minimum: {}, by the linear model", distance(fit));
    if (s.termination == Termination::max_iterations)
      s.certificate.governed_by = "no minimum at these values";
  }
  return fit;
}

FitResult certify(const Formula& formula, const Columns& x, const Column& y, const NamedValues& parameters,
                  const FitOptions& options) {
  check_values_to_judge(formula.parameters, parameters, options.ties);
  return judged(curve_fit(formula, x, y, parameters, without_steps(options)));
}

FitResult certify(std::string_view formula, const Columns& x, const Column& y, const NamedValues& parameters,
                  const FitOptions& options) {
  return certify(formula_of_columns(formula, x.size()), x, y, parameters, options);
}

FitResult certify(const Model& model, const Columns& x, const Column& y, const NamedValues& parameters,
                  const FitOptions& options) {
  check_values_to_judge(model.parameters, parameters, options.ties);
  return judged(curve_fit(model, x, y, parameters, without_steps(options)));
}

FitResult certify(const ModelFunction& model, const Columns& x, const Column& y,
                  const std::vector<double>& parameters, const FitOptions& options) {
  return judged(curve_fit(model, x, y, parameters, without_steps(options)));
}

}  // namespace nlsq::inline v0
