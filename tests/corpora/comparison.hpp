// Compares a run under some policy with the f64 run and with the oracle.
#pragma once

#include "problem.hpp"
#include "reference_fit.hpp"

#include <string>

namespace problems {

enum class Outcome : std::uint8_t {
  same,           // the same minimum
  better,         // a lower minimum, or a certificate where f64 has none
  worse_minimum,  // certified at another minimum with a higher cost
  lower,          // no certificate where f64 has one, but a lower cost than f64
  lost,           // no certificate where f64 has one
  both_failed,    // neither is certified
};
const char* name(Outcome outcome);

struct Comparison {
  Outcome outcome = Outcome::same;
  double in_errors = 0;  // largest difference of a parameter, in standard errors of the f64 run
  double relative = 0;   // relative difference of a parameter, beyond what rounding explains
  bool same_verdict = true;
  bool renamed = false;  // same cost at different parameters
};

Comparison compare(const Problem& problem, const nlsq::FitResult& fit, const nlsq::FitResult& f64);

// Checks a successful verdict in long double. Returns an empty text if it is true, else what is wrong.
// `copies` says how often the fit repeated the rows of the reference's problem.
std::string false_certificate(const Reference& reference, const nlsq::FitResult& fit, double copies = 1);

// Returns the faults that no report may have: NaN or infinity in the figures of a success, or a cost above
// that of the start.
std::string unsound_report(const nlsq::FitResult& fit);

bool has_event(const nlsq::FitResult& fit, nlsq::Event event);

}  // namespace problems
