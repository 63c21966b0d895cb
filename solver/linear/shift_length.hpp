// How far parameters are shifted where second derivatives of the cost come from differences of its gradient.
// The checks of minima use it, for blocks and for curves.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace nlsq::inline v0 {

// The part of a parameter's shift_length() by which it is shifted. It balances third derivatives and
// rounding.
inline constexpr double kCurvatureShift = 0x1p-17;

// What shifts are proportional to: the sizes of the parameters, or the changes that would undo the residuals.
// With an offset in the parameters, such as a date or 10⁶ metres, the sizes say nothing of how far the
// curvature holds. Where residuals nearly vanish, their changes say nothing.
enum class ShiftBy : std::uint8_t { size, residual };

// `size` and `norm`: of a parameter and of its column of J.
inline double shift_length(double size, double norm, double cost, ShiftBy by) {
  // A parameter that is smaller than this share of the other length has no size of its own. It is 0, or 0 but
  // for rounding and for the errors of differences.
  constexpr double kZero = 1e-6;
  constexpr double kLeast = 0x1p-19;  // of the size: shorter shifts drown in the rounding of x
  const double undo = std::sqrt(2 * cost) / norm, other = std::min(1.0, undo);
  if (!(size > kZero * other)) return other;
  return by == ShiftBy::size ? size : std::clamp(undo, kLeast * size, std::max(size, 1.0));
}

// Returns whether a shift by the size of the parameter changes the residuals by more than these are.
// `length`: its shift_length() by size.
inline bool is_offset(double length, double norm, double cost) {
  return kCurvatureShift * length * norm > std::sqrt(2 * cost);
}

}  // namespace nlsq::inline v0
