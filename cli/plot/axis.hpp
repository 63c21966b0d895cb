// Declares an axis of a picture: its range, linear or logarithmic, and its tick marks. The text picture and
// the HTML report draw with it; the gnuplot script takes its range.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace nlsq::cli {

struct Tick {
  double value = 0;
  std::string text;
};

struct Axis {
  double low = 0, high = 1;  // low < high; both positive on a logarithmic axis
  bool log = false;

  // Returns 0 at `low`, 1 at `high`, and a number outside of [0, 1] for values beyond them. Returns NaN if
  // the axis cannot show the value.
  double place(double value) const;
  // Returns about `wanted` round values within the range, in rising order. `plain_text` writes powers of ten
  // in ASCII.
  std::vector<Tick> ticks(int wanted, bool plain_text = false) const;
};

// Returns the number of code points of the longest text.
std::size_t widest_text(const std::vector<Tick>& ticks);

// Returns an axis that holds every finite value, with a margin on both sides. Values that a logarithmic axis
// cannot show are left out. Without any value the axis is [0, 1] (or [1, 10]).
Axis axis_for(std::span<const double> values, bool log);

// Widens the axis so that it holds `value`, if the value is finite and the axis can show it.
void include(Axis& axis, double value);

// Returns true if data are better seen on a logarithmic axis. Every value must be positive, the largest must
// be 1,000 to `most_decades` powers of ten above the smallest, and half of the values must lie in the lowest
// tenth of the range.
bool asks_for_log(std::span<const double> values, double most_decades);

}  // namespace nlsq::cli
