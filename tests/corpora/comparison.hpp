// A run under some policy held against the all-f64 run and against the oracle.
#pragma once

#include "problem.hpp"
#include "reference_fit.hpp"

#include <string>

namespace problems {

enum class Outcome : std::uint8_t {
  same,           // the same minimum
  better,         // a lower minimum, or a certificate where f64 has none
  worse_minimum,  // certified, but another minimum with a higher cost
  lower,          // no certificate where f64 has one, at a cost lower than f64's
  lost,           // no certificate where f64 has one
  both_failed,    // neither is certified
};
const char* name(Outcome outcome);

struct Comparison {
  Outcome outcome = Outcome::same;
  double in_errors = 0;  // largest difference of a parameter, in f64's standard errors
  double relative = 0;   // the same relative to the parameter, as far as beyond what rounding explains
  bool same_verdict = true;
  bool renamed = false;  // the same cost at other parameters
};

Comparison compare(const Problem& problem, const nlsq::FitResult& fit, const nlsq::FitResult& f64);

// Whether a successful verdict is true, by long double. Empty where it is; else what is wrong. `copies`: how
// often the rows of the reference's problem were repeated in the fit.
std::string false_certificate(const Reference& reference, const nlsq::FitResult& fit, double copies = 1);

// Everything a report must never hold: NaN or infinity in what a success shows, a cost above the start's.
std::string unsound_report(const nlsq::FitResult& fit);

bool has_event(const nlsq::FitResult& fit, nlsq::Event event);

}  // namespace problems
