// Derivatives by extrapolated differences: central differences with ever shorter steps, extrapolated to step
// zero. C. J. F. Ridders, Accurate computation of F'(x) and F'(x)F''(x), Advances in Engineering Software
// 4(2), 1982. They take about ten evaluations instead of two for central differences. They give ten to twelve
// digits instead of seven to ten, and an error estimate.
#pragma once

#include <nlsq/export.hpp>

#include <functional>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

struct ExtrapolatedSlopes {
  std::vector<double> slope;  // for each component; NaN where f is not finite near p
  std::vector<double> error;  // its estimated error: the larger of truncation and rounding
  bool one_sided = false;     // without extrapolation; the estimate is then far too large
};

// Evaluates several functions of one number at once.
using ValuesAt = std::function<std::vector<double>(double p)>;

// Differentiates `f` at p, where it has the values `here`. Steps keep lower <= p ± h <= upper. They start at
// h = 0.01 max(|p|, typical), or less beside a bound. If a bound leaves almost no room on one side, one-sided
// differences from `here` are used, without extrapolation. A component that is not finite for the longer
// steps is extrapolated from the shorter ones.
NLSQ_API ExtrapolatedSlopes extrapolated_slopes(const ValuesAt& f, std::span<const double> here, double p,
                                                double typical, double lower, double upper);

}  // namespace nlsq::inline v0
