// Parameters whose names other programs use for constants.
#pragma once

#include <nlsq/curve_fit.hpp>

#include <string>

namespace nlsq::inline v0 {

// Returns a warning for a parameter called e that is the base of a power, and for one called Pi, PI or π: the
// author most likely means the constant. Returns "" if there is none, or if it has a value in p0 or is fixed.
std::string note_on_constants(const Formula& formula, const NamedValues& p0, const FitOptions& options);

}  // namespace nlsq::inline v0
