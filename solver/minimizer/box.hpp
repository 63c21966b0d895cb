// Declares bounds on the free parameters, the active set, and steps that stay within the bounds. The
// minimizer, the linear solvers and the certificate use it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// The set lower <= x <= upper. A Box may also hold the distances from a point x to its bounds; then lower <=
// step <= upper. Empty spans mean no bounds.
struct Box {
  std::span<const double> lower, upper;
  bool empty() const { return lower.empty(); }
  bool allow(std::size_t j, double value) const {
    return empty() || (value >= lower[j] && value <= upper[j]);
  }
};

// This is a Box that owns its memory.
struct Limits {
  std::vector<double> lower, upper;
  bool empty() const { return lower.empty(); }
  Box box() const { return {lower, upper}; }
  double nearest(std::size_t j, double value) const {
    return empty() ? value : std::clamp(value, lower[j], upper[j]);
  }
  bool allow(std::size_t j, double value) const { return box().allow(j, value); }
  bool allow(std::span<const double> x) const {
    for (std::size_t j = 0; j < x.size(); ++j)
      if (!allow(j, x[j])) return false;
    return true;
  }
};

// Says at which bound a parameter is fixed.
enum class Held : signed char { lower = -1, none = 0, upper = 1 };

// Returns the bound that x lies on and that blocks the descent along its own gradient. `room` holds the
// distances from x to its bounds. With a gradient of 0 the parameter is not fixed: the cost may still fall
// towards the inside, as that of b²x does from b = 0.
inline Held held(const Box& room, std::size_t j, double gradient) {
  if (room.lower[j] == 0 && (gradient > 0 || room.upper[j] == 0)) return Held::lower;
  return room.upper[j] == 0 && gradient < 0 ? Held::upper : Held::none;
}

// Sets out = x + step. A parameter that `by` marks as fixed lands exactly on its bound. No parameter leaves
// the bounds, not even by rounding.
inline void move_within(const Box& box, std::span<const double> x, std::span<const double> step,
                        std::span<const Held> by, std::vector<double>& out) {
  out.assign(x.begin(), x.end());
  for (std::size_t j = 0; j < out.size(); ++j) out[j] += step[j];
  if (box.empty()) return;
  for (std::size_t j = 0; j < out.size(); ++j) {
    const Held side = by.empty() ? Held::none : by[j];
    const double lower = box.lower[j], upper = box.upper[j];
    if (side == Held::lower || step[j] <= lower - x[j] || out[j] < lower) out[j] = lower;
    else if (side == Held::upper || step[j] >= upper - x[j] || out[j] > upper) out[j] = upper;
  }
}

// Rounds v to the nearest float. If that leaves the bounds, returns the next float inside, or v itself if
// there is none.
inline double on_grid(double v, double lower, double upper) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  float f = static_cast<float>(v);
  if (static_cast<double>(f) < lower) f = std::nextafterf(f, kInfinity);
  if (static_cast<double>(f) > upper) f = std::nextafterf(f, -kInfinity);
  const auto rounded = static_cast<double>(f);
  return rounded >= lower && rounded <= upper ? rounded : v;
}

}  // namespace nlsq::inline v0
