// Finds waves that are too fast for the rows of the data. Such a wave passes through the same points as a
// slower one, so a fit cannot tell them apart.
#pragma once

#include <nlsq/column.hpp>
#include <nlsq/formula.hpp>

#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// This is the warning for a fit that ends at such a wave.
inline constexpr const char* kFastWave =
    "a wave advances by more than half of its period from row to row, so a slower one may pass through the "
    "same points: give a starting value or bounds for its frequency or period";

// Returns the arguments of sine, cosine and tangent in a formula.
std::vector<Formula> wave_arguments(const Formula& formula);

// Returns true if a wave advances slowly enough for the places at which its argument has these values:
// between most neighbouring places by at most half of its period.
bool advances_slowly(const std::vector<double>& argument);

// Returns the arguments whose speed depends on an unstarted parameter. The user has chosen the speed of the
// others. The result is empty if the formula has several predictors.
std::vector<Formula> unstarted_waves(const Formula& formula, const std::vector<std::string>& unstarted);

// Returns true if a wave with one of these arguments advances by more than half of its period between most
// neighbouring places of x. Such a wave fits values of every hour, with x in seconds, as well as the wave of
// a day does. `parameters` are those of the formula, in its order.
bool has_fast_wave(const std::vector<Formula>& arguments, const Column& x,
                   std::span<const double> parameters);

}  // namespace nlsq::inline v0
