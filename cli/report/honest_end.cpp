// A fit may be certified as RANK_DEFICIENT only because it began, or went, where the model has no effect.
// Near such a place rounding may leave the rank full by a hair, and then the verdict is NOISE_FLOOR.
#include "report/honest_end.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace nlsq::cli {

namespace {

constexpr double kExplainsNothing = 0.01;  // R²
constexpr double kFarAway = 1e3;           // factor between start and end
constexpr double kSaysNothing = 1e3;       // standard errors over their parameter

// Returns whether a parameter has no standard error although it is neither fixed, tied nor on a bound.
bool undetermined(const FitResult& fit, std::size_t j) {
  return !fit.fixed[j] && fit.ties[j].empty() && !fit.at_bound[j] && std::isnan(fit.standard_errors[j]);
}

bool went_far(double from, double to) {
  const double ratio = std::fabs(to / from);
  return from != 0 && to != 0 && (ratio > kFarAway || ratio < 1 / kFarAway);
}

std::string no_success(Verdict verdict, const std::string& why) {
  return fmt::format(
      "{} is no success here, because {}: give starting values (--p0), or several starts "
      "(--starts 32); if the parameters stay undetermined, fix some (--fix)",
      name(verdict), why);
}

// Why NOISE_FLOOR is none: the model explains nothing of y, and two parameters or more, which may balance
// each other, have standard errors that say nothing about them. One alone may be 0.
std::string doubt_about_noise_floor(std::span<const double> parameters, std::span<const double> errors,
                                    double r_squared) {
  if (r_squared > kExplainsNothing) return "";
  std::size_t count = 0;
  for (std::size_t j = 0; j < parameters.size(); ++j)
    count += parameters[j] != 0 && errors[j] > kSaysNothing * std::fabs(parameters[j]) ? 1 : 0;
  if (count < 2) return "";
  return no_success(Verdict::noise_floor,
                    "the model explains nothing of y, and does not determine parameters");
}

// Says which parameter cannot be told from 0. Other starts would lead to 0 again, so a simpler model is the
// better advice. An example is a Voigt peak fitted to a Lorentzian: the width of its Gaussian part is 0.
std::string vanished_parameter(const FitResult& fit) {
  constexpr double kOfError = 0.01;
  for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
    const double value = fit.parameters[j], error = fit.standard_errors[j];
    if (fit.fixed[j] || !(std::fabs(value) < kOfError * error)) continue;
    return fmt::format(
        "{} cannot be told from 0 ({:.3g} ± {:.3g}): a simpler model, without it, may be enough",
        fit.parameter_names[j], value, error);
  }
  return {};
}

}  // namespace

// Formulas have no rule for a first guess.
std::string advice_on_starts(const ModelChoice& model, const FitResult& fit, const NamedValues& p0) {
  if (fit.success()) return {};
  if (std::isnan(fit.r_squared) && std::isfinite(fit.summary.final_cost))
    return "y does not vary, so it determines no more than a constant: other starting values would not help";
  std::vector<std::string> missing;
  for (const std::string& name : model.formula.parameters) {
    const bool given = std::ranges::any_of(p0, [&](const auto& p) { return p.first == name; });
    if (!given) missing.push_back(name);
  }
  if (model.builtin == nullptr && !missing.empty()) {
    return fmt::format(
        "{} had no starting value; --p0 with values of the right size may help, or --starts 32",
        fmt::join(missing, ", "));
  }
  const std::string vanished = vanished_parameter(fit);
  const Certificate& end = fit.summary.certificate;
  // The message says what helps where rounding hides the minimum.
  const bool at_rounding = end.governed_by != "lost parameters" && end.gradient_norm <= end.gradient_bound;
  if (!vanished.empty() || at_rounding || fit.summary.termination != Termination::no_progress)
    return vanished;
  return "other starting values may help (--p0), or several starts (--starts 32)";
}

std::string doubt_about_end(const ModelChoice& model, const FitResult& fit, const NamedValues& p0) {
  if (fit.summary.verdict == Verdict::noise_floor)
    return doubt_about_noise_floor(fit.parameters, fit.standard_errors, fit.r_squared);
  if (fit.summary.verdict != Verdict::rank_deficient) return "";
  std::string unstarted, far;
  for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
    if (!undetermined(fit, j)) continue;
    const std::string& name = fit.parameter_names[j];
    const bool given = std::ranges::any_of(p0, [&](const auto& p) { return p.first == name; });
    const bool guessed = model.builtin != nullptr || fit.guess[j] != 1;  // a formula's parameters start at 1
    if (!given && !guessed) unstarted += (unstarted.empty() ? "" : ", ") + name;
    if (went_far(fit.guess[j], fit.parameters[j])) far += (far.empty() ? "" : ", ") + name;
  }
  std::string why;
  if (!unstarted.empty()) why = fmt::format("the undetermined {} had no starting value", unstarted);
  else if (!(fit.r_squared > kExplainsNothing)) why = "the model explains nothing of y";
  else if (!far.empty()) why = fmt::format("the undetermined {} moved by more than a factor of 1000", far);
  return why.empty() ? "" : no_success(Verdict::rank_deficient, why);
}

void withdraw_doubtful(const ModelChoice& model, const NamedValues& p0, const FitOptions& options,
                       GroupsResult& fits) {
  // With bounds an unknown standard error may be that of a parameter on its bound.
  const auto started = [&](const std::string& name) {
    return model.builtin != nullptr || !options.bounds.empty() ||
           std::ranges::count(options.fixed, name) > 0 ||
           std::ranges::any_of(p0, [&](const auto& p) { return p.first == name; });
  };
  const auto doubt = [&](std::size_t k) -> std::string {
    const std::size_t n = fits.parameter_names.size();
    if (fits.verdict[k] == Verdict::noise_floor) {
      return doubt_about_noise_floor({&fits.parameters(k, 0), n}, {&fits.standard_errors(k, 0), n},
                                     fits.r_squared[k]);
    }
    if (fits.verdict[k] != Verdict::rank_deficient) return "";
    std::string unstarted;
    for (std::size_t j = 0; j < n; ++j) {
      const std::string& name = fits.parameter_names[j];
      if (std::isnan(fits.standard_errors(k, j)) && !started(name))
        unstarted += (unstarted.empty() ? "" : ", ") + name;
    }
    if (unstarted.empty() && fits.r_squared[k] > kExplainsNothing) return "";
    return no_success(Verdict::rank_deficient,
                      unstarted.empty()
                          ? "the model explains nothing of y"
                          : fmt::format("the undetermined {} had no starting value", unstarted));
  };
  for (std::size_t k = 0; k < fits.size(); ++k) {
    std::string message = doubt(k);
    if (message.empty()) continue;
    fits.message[k] = std::move(message);
    fits.verdict[k] = Verdict::budget;
    --fits.succeeded;
  }
  if (fits.joint && fits.joint->summary.verdict == Verdict::rank_deficient && !fits.success())
    fits.joint->summary.verdict = Verdict::budget;
}

}  // namespace nlsq::cli
