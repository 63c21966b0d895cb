// Implements advice_on_starts().
#include "report/advice_on_starts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace nlsq::cli {

namespace {

// Returns advice on a parameter that the data do not distinguish from 0. Other starts would lead to 0 again,
// so a simpler model is the better advice. An example is a Voigt peak fitted to a Lorentzian: the width of
// its Gaussian part is 0.
std::string vanished_parameter(const FitResult& fit) {
  constexpr double kOfError = 0.03;
  for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
    const double value = fit.parameters[j], error = fit.standard_errors[j];
    if (fit.fixed[j] || !(std::fabs(value) < kOfError * error)) continue;
    return fmt::format(
        "{} cannot be told from 0 ({:.3g} ± {:.3g}): a simpler model, without it, may be enough",
        fit.parameter_names[j], value, error);
  }
  return {};
}

bool varies(const Column& y) {
  for (std::size_t i = 1; i < y.size(); ++i)
    if (y[i] != y[0]) return true;
  return false;
}

}  // namespace

// Returns advice for formulas, which have no rule for a first guess. If a fit from scanned starts
// (start/scanned_starts.hpp) fails, the scan has not found a useful start.
std::string advice_on_starts(const ModelChoice& model, const FitResult& fit, const Column& y,
                             const NamedValues& p0) {
  // Other starts would not help where derivatives cannot see a parameter.
  if (fit.success() || fit.summary.certificate.governed_by == "parameters that only move jumps") return {};
  if (!varies(y)) {
    const bool said = fit.summary.message.find("values of y do not vary") != std::string::npos;
    return said ? ""
                : "y does not vary, so it determines no more than a constant: other starting values would "
                  "not help";
  }
  std::vector<std::string> missing;
  for (const std::string& name : model.formula.parameters) {
    if (!has_value(p0, name)) missing.push_back(name);
  }
  if (model.builtin == nullptr && !missing.empty()) {
    return fmt::format(
        "{} had no starting value; --p0 with values of the right size may help, or --starts 32",
        fmt::join(missing, ", "));
  }
  // Where squares of derivatives underflow, errors are infinite, and the message says which units would help.
  if (std::ranges::any_of(fit.standard_errors, [](double error) { return std::isinf(error); })) return {};
  const std::string vanished = vanished_parameter(fit);
  const Certificate& end = fit.summary.certificate;
  // The message says what helps where rounding hides the minimum.
  const bool determined =
      end.governed_by != "lost parameters" && end.governed_by != "undetermined parameters";
  const bool at_rounding = determined && end.gradient_norm <= end.gradient_bound;
  if (!vanished.empty() || at_rounding || fit.summary.termination != Termination::no_progress)
    return vanished;
  return "other starting values may help (--p0), or several starts (--starts 32)";
}

}  // namespace nlsq::cli
