// Certified ends that are no minimum for the user: the fit began, or went, where the model has no effect on
// the data, the model explains nothing of them, or derivatives cannot see a parameter. Fits of one curve,
// batches and groups ask the same function.
#pragma once

#include <nlsq/curve_fit.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Withdraws the certificate of an end that is no minimum, or too far from it. `governed_by`: null if the test
// that held stays named.
void withdraw(Summary& summary, std::string message, const char* governed_by = nullptr);

// Residuals that are this share of what they were at the start are 0, whatever their rounding errors.
inline constexpr double kVanished = 1e-30;

struct CertifiedEnd {
  Verdict verdict = Verdict::failed;
  std::span<const std::string> names;
  std::span<const double> start, parameters, standard_errors;  // of each parameter
  // The free parameters that are not on a bound and do not enter linearly. A linear one raises no doubt: what
  // the data say of it depends neither on its value nor on its start.
  std::vector<std::size_t> nonlinear;
  std::span<const std::string> unstarted;  // parameters that had neither a starting value nor a guess
  double r_squared = 0;                    // NaN: not known
  std::span<const int> jumps = {};         // parameters that only move jumps (jump_parameters)
  bool vanishes = false;                   // residuals are below kVanished of those at the start
};

// What governs the end of a fit whose certificate was withdrawn.
inline constexpr const char* kDoubtfulEnd = "undetermined parameters";
inline constexpr const char* kJumps = "parameters that only move jumps";

// Says why a certified end is no success, such as "the model explains nothing of y", and what would help.
struct Doubt {
  std::string reason;  // empty: there is no doubt, or the end is no success anyway
  std::string advice;  // sentences
  const char* governed_by = kDoubtfulEnd;
  bool empty() const { return reason.empty(); }
};

Doubt doubt_about_end(const CertifiedEnd& end);
// The message of a fit with this doubt.
std::string message_of_doubt(const Doubt& doubt);

// Withdraws the certificate of a fit whose end raises a doubt. `linear` are the parameters that enter
// linearly, and `jumps` those that only move jumps. If `y` is zero in all rows, the model gives
// residuals, or the data are exactly zero: there is nothing that it could explain or not.
void withdraw_doubtful(FitResult& fit, std::span<const int> linear, std::span<const int> jumps,
                       std::span<const std::string> unstarted, const Column& y);

}  // namespace nlsq::inline v0
