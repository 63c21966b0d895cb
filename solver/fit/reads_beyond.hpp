// Detects likely mistakes in models: callables that read more parameters than they have starting values, and
// parameters whose names other programs use for constants.
#pragma once

#include <nlsq/curve_fit.hpp>
#include <nlsq/least_squares.hpp>

#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Throws ValidationError if a callable has no starting value.
void refuse_no_parameters(const std::vector<double>& p0);
// Throws ValidationError if the function, called for the first row, uses one of the 16 numbers from p[n] on,
// with n starting values. Reads farther behind, or only in other rows, are not found. Without this check,
// such a function would be fitted with arbitrary numbers that lie behind its parameters in memory.
void refuse_reads_beyond(const ModelFunction& function, const RowSource& data, const std::vector<double>& p);
// Does the same for functions of residuals. Exceptions of the function pass through.
void refuse_reads_beyond(const VectorFunction& function, const std::vector<double>& p);

// Returns a warning for a parameter called e that is the base of a power, and for one called Pi, PI or π: the
// author most likely means the constant. Returns "" if there is none, or if it has a value in p0 or is fixed.
std::string note_on_constants(const Formula& formula, const NamedValues& p0, const FitOptions& options);

}  // namespace nlsq::inline v0
