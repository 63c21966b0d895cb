// Finding peaks and dips, of any shape, on a constant background.
#pragma once

#include "models/sample.hpp"

#include <functional>
#include <span>
#include <vector>

namespace nlsq::inline v0::guessing {

// Where a bump may be, in unit x.
struct Bump {
  double centre, half_width;
};

// Least squares of "a box on a constant", for boxes of a dozen widths, each at its best places: a
// matched filter that survives noise, dips, and bumps cut by the edge. `u` sorted, in [0, 1].
std::vector<Bump> find_bumps(std::span<const double> u, std::span<const double> y);

// Limits of log(width) that data of n rows in unit x can show.
double narrowest_log_width(std::size_t n);
inline constexpr double kWidestLogWidth = 1.6;  // five times the range of x
inline constexpr double kCentreLow = -0.5, kCentreHigh = 1.5;

// h * shape((u - centre) / width, extra) + c.
using Shape = std::function<double(double z, std::span<const double> extra)>;

struct PeakProblem {
  Shape shape;
  double width_per_box = 0.6;  // width of the shape as a fraction of the half width of the box it resembles
  std::vector<std::vector<double>> extra_starts = {{}};  // starts of the shape's further parameters
  std::vector<double> extra_lower = {}, extra_upper = {};
};

struct PeakFit {
  double centre = 0, width = 1, height = 0, background = 0;  // in units of x and y
  std::vector<double> extra;
};

// Long data are averaged over cells of x first, and looked at again around what was found, so that a
// peak much narrower than a cell is found too.
PeakFit fit_peak(const Sample& sample, const PeakProblem& problem);

}  // namespace nlsq::inline v0::guessing
