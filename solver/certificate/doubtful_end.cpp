// Implements doubt_about_end().
#include "certificate/doubtful_end.hpp"

#include "support/column_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

namespace nlsq::inline v0 {

namespace {

constexpr double kExplainsNothing = 0.01;  // R²
constexpr double kFarAway = 1e3;           // factor between start and end
constexpr double kSaysNothing = 1e3;       // standard errors over their parameter

bool went_far(double from, double to) {
  const double ratio = std::fabs(to / from);
  return from != 0 && to != 0 && (ratio > kFarAway || ratio < 1 / kFarAway);
}

// Returns true if two or more parameters have standard errors far larger than their values. Near a place
// where the model has no effect, rounding may make the rank of J appear full. Then such parameters compensate
// each other, and the data do not determine them. A single such parameter may simply be 0.
bool balance_each_other(const CertifiedEnd& end) {
  const auto says_nothing = [&](std::size_t j) {
    const double value = end.parameters[j];
    return value != 0 && end.standard_errors[j] > kSaysNothing * std::fabs(value);
  };
  std::size_t count = 0;
  for (std::size_t j = 0; j < end.parameters.size(); ++j) count += says_nothing(j) ? 1 : 0;
  return count >= 2 && std::ranges::any_of(end.nonlinear, says_nothing);
}

// Returns the names of those undetermined parameters for which `is` is true.
template <class Is>
std::string undetermined_that(const CertifiedEnd& end, Is is) {
  std::vector<std::string> names;
  for (const std::size_t j : end.nonlinear)
    if (std::isnan(end.standard_errors[j]) && is(j)) names.push_back(end.names[j]);
  return fmt::format("{}", fmt::join(names, ", "));
}

constexpr const char* kOfConstant =
    "The values of y do not vary, so they determine no more than a constant, and other starting values would "
    "not help: fit a constant, or fix parameters";

std::string reason_of_doubt(const CertifiedEnd& end) {
  constexpr const char* kNothing = "the model explains nothing of y";
  const bool explains = end.r_squared > kExplainsNothing;
  if (end.verdict == Verdict::noise_floor)
    return !explains && balance_each_other(end)
               ? fmt::format("{}, and does not determine parameters", kNothing)
               : std::string();
  if (end.verdict != Verdict::rank_deficient) return {};
  const std::string unstarted = undetermined_that(
      end, [&](std::size_t j) { return std::ranges::count(end.unstarted, end.names[j]) > 0; });
  if (!unstarted.empty()) return fmt::format("the undetermined {} had no starting value", unstarted);
  if (!explains && !undetermined_that(end, [](std::size_t) { return true; }).empty()) return kNothing;
  const std::string far = undetermined_that(end, [&](std::size_t j) {
    const bool to_zero = std::fabs(end.parameters[j]) <= std::fabs(end.start[j]);
    return went_far(end.start[j], end.parameters[j]) && !(end.vanishes && to_zero);
  });
  return far.empty() ? "" : fmt::format("the undetermined {} moved by more than a factor of 1000", far);
}

}  // namespace

Doubt doubt_about_end(const CertifiedEnd& end) {
  const std::string jumping =
      end.verdict != Verdict::rank_deficient ? std::string() : undetermined_that(end, [&](std::size_t j) {
        return std::ranges::count(end.jumps, static_cast<int>(j)) > 0;
      });
  if (!jumping.empty())
    return {fmt::format("the derivatives by {} are 0 everywhere, since comparisons, if and floor change the "
                        "curve in jumps, so no step can find a better value",
                        jumping),
            "Fix it at several values and compare the costs, or write a smooth step, such as "
            "1/(1+exp((t-x)/w))",
            kJumps};
  return {reason_of_doubt(end), end.constant ? kOfConstant
                                             : "Give other starting values (p0), or try several starts; if "
                                               "parameters stay undetermined, fix some"};
}

std::string message_of_doubt(const Doubt& doubt) {
  return fmt::format("no usable minimum: {}. {}", doubt.reason, doubt.advice);
}

std::string message_of_constant() { return message_of_doubt({"parameters are not determined", kOfConstant}); }

void withdraw_doubtful(FitResult& fit, std::span<const int> linear, std::span<const int> jumps,
                       std::span<const std::string> unstarted, const Column& y) {
  Summary& s = fit.summary;
  CertifiedEnd end;
  end.verdict = s.verdict;
  end.names = fit.parameter_names;
  end.start = fit.guess;
  end.parameters = fit.parameters;
  end.standard_errors = fit.standard_errors;
  end.unstarted = unstarted;
  end.jumps = jumps;
  end.r_squared = fit.r_squared;
  for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
    const bool free = !fit.fixed[j] && fit.ties[j].empty() && !fit.at_bound[j];
    if (free && std::ranges::count(linear, static_cast<int>(j)) == 0) end.nonlinear.push_back(j);
  }
  // Where no parameter has an effect, nothing is minimized, and the doubt remains.
  const bool has_effect = s.certificate.rank > 0 || fit.parameters != fit.guess;
  if (is_success(s.verdict) && has_effect && std::isnan(end.r_squared) && is_zero(y)) {
    end.r_squared = 1;
    end.vanishes = s.final_cost <= kVanished * kVanished * s.initial_cost;
  }
  end.constant = std::isnan(fit.r_squared) && is_constant(y);
  const Doubt doubt = doubt_about_end(end);
  if (!doubt.empty()) withdraw(s, message_of_doubt(doubt), doubt.governed_by);
  else if (end.constant && s.certificate.governed_by == kLostParameters) s.message = message_of_constant();
}

void withdraw(Summary& s, std::string message, const char* governed_by) {
  s.verdict = s.certificate.verdict = Verdict::budget;
  s.certificate.passed = false;
  if (governed_by != nullptr) s.certificate.governed_by = governed_by;
  s.termination = Termination::no_progress;
  s.message = std::move(message);
}

}  // namespace nlsq::inline v0
