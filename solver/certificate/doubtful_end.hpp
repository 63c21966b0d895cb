// Certified ends that are no minimum for the user: the fit began, or went, where the model has no effect on
// the data, or the model explains nothing of them. Fits of one curve, batches and groups ask the same
// function.
#pragma once

#include <nlsq/curve_fit.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

struct CertifiedEnd {
  Verdict verdict = Verdict::failed;
  std::span<const std::string> names;
  std::span<const double> start, parameters, standard_errors;  // of each parameter
  // The free parameters that are not on a bound and do not enter linearly. A linear one raises no doubt: what
  // the data say of it depends neither on its value nor on its start.
  std::vector<std::size_t> nonlinear;
  std::span<const std::string> unstarted;  // parameters that had neither a starting value nor a guess
  double r_squared = 0;                    // NaN: not known
};

// Why the end is no success, such as "the model explains nothing of y". Empty if it is one, or is none
// anyway.
std::string doubt_about_end(const CertifiedEnd& end);
// The message of a fit with this doubt.
std::string message_of_doubt(const std::string& doubt);
// Withdraws the certificate because of this doubt, and says so in the message.
void withdraw_end(Summary& summary, const std::string& doubt);

// Withdraws the certificate of a fit whose end raises a doubt. `linear` are the parameters that enter
// linearly.
void withdraw_doubtful(FitResult& fit, std::span<const int> linear, std::span<const std::string> unstarted);

// What governs the end of a fit whose certificate was withdrawn.
inline constexpr const char* kDoubtfulEnd = "undetermined parameters";

}  // namespace nlsq::inline v0
