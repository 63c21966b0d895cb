// Declares the clock for times and time limits.
#pragma once

#include <chrono>

namespace nlsq::inline v0 {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace nlsq::inline v0
