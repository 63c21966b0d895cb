// Finds peaks and dips of any shape on a constant background. The guesses of the peak models use it.
#pragma once

#include "models/guesses/sample.hpp"
#include "models/guesses/separable.hpp"

#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace nlsq::inline v0::guessing {

// This is a candidate for a peak or dip, in unit x.
struct Bump {
  double centre, half_width;
  double score = 0;  // by how much the box lowers the sum of squares
};

// Fits "a box on a constant" by least squares, for boxes of a dozen widths, each at its best places. This
// matched filter works with noise, with dips, and with peaks cut by the edge. `u` is sorted, in [0, 1]. The
// best come first. `weight` holds the weight of each row's residual; if it is empty, all are 1.
std::vector<Bump> find_bumps(std::span<const double> u, std::span<const double> y,
                             std::span<const double> weight);

// Finds two peaks, two dips, or a peak and a dip, for each of these widths.
std::vector<std::pair<Bump, Bump>> find_bump_pairs(std::span<const double> u, std::span<const double> y,
                                                   std::span<const double> weight);

// Returns the smallest log(width) that n rows in unit x can resolve.
double narrowest_log_width(std::size_t n);
inline constexpr double kWidestLogWidth = 1.6;  // five times the range of x
inline constexpr double kCentreLow = -0.5, kCentreHigh = 1.5;

// Replaces each z = (u - centre) / width by the value of the shape there. The peak is h times that, plus c.
using Shape = std::function<void(std::span<double> z, std::span<const double> extra)>;

// These replace each z by exp(-z²/2) and by 1/(1 + z²). They have no further parameters.
void gaussian_shape(std::span<double> z, std::span<const double> = {});
void lorentzian_shape(std::span<double> z, std::span<const double> = {});

struct PeakProblem {
  Shape shape;
  double width_per_box = 0.6;  // width of the shape over the half width of a similar box
  std::vector<std::vector<double>> extra_starts = {{}};  // starts of the shape's further parameters
  std::vector<double> extra_lower = {}, extra_upper = {};
  Effort effort = {};
};

struct PeakFit {
  double centre = 0, width = 1, height = 0, background = 0;  // in units of x and y
  std::vector<double> extra;
};

// Averages long data over cells of x first. It then examines the data near the peaks found, so that it also
// finds a peak much narrower than a cell.
PeakFit fit_peak(const Sample& sample, const PeakProblem& problem);

}  // namespace nlsq::inline v0::guessing
