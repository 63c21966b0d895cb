// Constants that many files of the solver use.
#pragma once

#include <limits>

namespace nlsq::inline v0 {

inline constexpr double kUnitRoundoff = 0x1p-53;  // relative error of one rounding to float64
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace nlsq::inline v0
