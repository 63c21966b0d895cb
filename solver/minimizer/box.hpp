// Bounds of the free parameters, and how far a step may go in them.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// lower <= x <= upper, or lower <= step <= upper where it is the room around an x. Empty: no bounds.
struct Box {
  std::span<const double> lower, upper;
  bool empty() const { return lower.empty(); }
};

// The same with memory of its own.
struct Limits {
  std::vector<double> lower, upper;
  bool empty() const { return lower.empty(); }
  Box box() const { return {lower, upper}; }
};

// Which bound holds a parameter.
enum class Held : signed char { lower = -1, none = 0, upper = 1 };

// Whether a bound that x lies on keeps the cost from falling along its own gradient; `room` around x.
inline Held held(const Box& room, std::size_t j, double gradient) {
  if (room.lower[j] == 0 && (gradient >= 0 || room.upper[j] == 0)) return Held::lower;
  return room.upper[j] == 0 && gradient <= 0 ? Held::upper : Held::none;
}

// x + step, exactly on the bound where `by` says that one holds the step, and nowhere outside, rounding
// included.
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

// The float next to v, from within the bounds where there is one.
inline double on_grid(double v, double lower, double upper) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  float f = static_cast<float>(v);
  if (static_cast<double>(f) < lower) f = std::nextafterf(f, kInfinity);
  if (static_cast<double>(f) > upper) f = std::nextafterf(f, -kInfinity);
  const auto rounded = static_cast<double>(f);
  return rounded >= lower && rounded <= upper ? rounded : v;
}

}  // namespace nlsq::inline v0
