// Certified ends that are no minimum in the user's sense: the fit began or ended where the model has no
// effect on the data, the model explains nothing of them, or the derivatives by a parameter are always 0.
// Fits of one curve, batches and groups call the same function.
#pragma once

#include <nlsq/curve_fit.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Takes the certificate back from an end that is no minimum, or is too far from it. `governed_by` names the
// new reason. With null, the name of the test that held remains.
void withdraw(Summary& summary, std::string message, const char* governed_by = nullptr);

// Residuals that are at most this share of the residuals at the start count as 0, whatever their rounding
// errors.
inline constexpr double kVanished = 1e-30;

struct CertifiedEnd {
  Verdict verdict = Verdict::failed;
  std::span<const std::string> names;
  std::span<const double> start, parameters, standard_errors;  // of each parameter
  // The free parameters that are not on a bound and do not enter linearly. A linear parameter raises no
  // doubt, because how well the data determine it depends neither on its value nor on its start.
  std::vector<std::size_t> nonlinear;
  std::span<const std::string> unstarted;  // parameters that had neither a starting value nor a guess
  double r_squared = 0;                    // NaN if not known
  std::span<const int> jumps = {};         // parameters that only move jumps (jump_parameters)
  bool vanishes = false;                   // residuals are below kVanished of those at the start
  bool constant = false;                   // y does not vary, and is not 0
};

// Values of Certificate::governed_by for a fit whose certificate was taken back.
inline constexpr const char* kDoubtfulEnd = "undetermined parameters";
inline constexpr const char* kLostParameters = "lost parameters";
inline constexpr const char* kJumps = "parameters that only move jumps";

// Describes why a certified end is no success, such as "the model explains nothing of y", and what would
// help.
struct Doubt {
  std::string reason;  // empty if there is no doubt, or if the end is no success anyway
  std::string advice;  // sentences
  const char* governed_by = kDoubtfulEnd;
  bool empty() const { return reason.empty(); }
};

Doubt doubt_about_end(const CertifiedEnd& end);
// Returns the message of an end that lost parameters where y does not vary. Other starts would not help.
std::string message_of_constant();
std::string message_of_doubt(const Doubt& doubt);

// Takes the certificate back if the end of a fit raises a doubt. `linear` are the parameters that enter
// linearly, and `jumps` those that only move jumps. If `y` is zero in all rows, the model gives residuals or
// the data are exactly zero, so that R² has no meaning.
void withdraw_doubtful(FitResult& fit, std::span<const int> linear, std::span<const int> jumps,
                       std::span<const std::string> unstarted, const Column& y);

}  // namespace nlsq::inline v0
