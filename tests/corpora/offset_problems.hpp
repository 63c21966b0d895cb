// Declares curves far from zero: sines, decays and peaks on offsets of up to 1e12, or over Unix times.
// float32 has seven digits, so it resolves little or nothing of such data.
#pragma once

#include "problem.hpp"

#include <cstdint>
#include <vector>

namespace problems {

enum class OffsetShape : std::uint8_t { sine, decay, gaussian, lorentzian };

struct OffsetProblem {
  Problem problem;
  OffsetShape shape = OffsetShape::sine;
  double x_origin = 0;  // origin of x and of the centres of peaks
  double y_origin = 0;  // near the mean of y
  double sigma = 0;     // of the noise
};

// Returns case `index` of a series, which is always the same. A quarter of the cases have Unix times as x.
OffsetProblem offset_problem(std::uint64_t seed, std::uint64_t index, std::size_t rows);

// Describes a point as the oracle evaluates it. x and y are relative to their origins, which are subtracted
// exactly, so that nothing cancels.
struct OffsetDistance {
  double cost = 0;             // ½‖r‖²
  double standard_errors = 0;  // ν₀/σ: the distance from the minimum of the linear model
};
OffsetDistance distance(const OffsetProblem& problem, const std::vector<double>& parameters);

}  // namespace problems
