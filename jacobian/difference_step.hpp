// Steps of central differences (Dennis and Schnabel, Numerical Methods for Unconstrained
// Optimization, section 5.6: the cube root of the relative noise, times the parameter's size).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// p ± h with h exactly representable as the distance, so that dividing by it adds no error.
struct DifferenceStep {
  double above, below;

  DifferenceStep(double p, double typical) {
    const double h = std::cbrt(std::numeric_limits<double>::epsilon()) * std::max(std::fabs(p), typical);
    above = p + h;
    below = p - h;
  }

  // The derivative from values above, at and below; one side serves where the other is not finite.
  double slope(double p, double f_above, double f, double f_below) const {
    const bool up = std::isfinite(f_above), down = std::isfinite(f_below);
    if (up == down) return (f_above - f_below) / (above - below);
    return up ? (f_above - f) / (above - p) : (f - f_below) / (p - below);
  }
};

// Sizes that steps do not shrink below: those of the starting values, 1 for a zero.
inline std::vector<double> typical_sizes(std::span<const double> start) {
  std::vector<double> sizes;
  for (const double p : start) sizes.push_back(p != 0 && std::isfinite(p) ? std::fabs(p) : 1.0);
  return sizes;
}

}  // namespace nlsq::inline v0
