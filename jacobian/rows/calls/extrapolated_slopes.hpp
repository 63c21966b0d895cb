// Derivatives by extrapolated differences: central differences of ever shorter steps, extrapolated to none.
// C. J. F. Ridders, Accurate computation of F'(x) and F'(x)F''(x), Advances in Engineering Software 4(2),
// 1982. Some ten evaluations where central differences take two; ten to twelve digits instead of seven to
// ten, and what is left of error is known.
#pragma once

#include <nlsq/export.hpp>

#include <functional>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

struct ExtrapolatedSlopes {
  std::vector<double> slope;  // by component; NaN where f is not finite beside p
  std::vector<double> error;  // its estimated error, truncation or rounding, whichever rules
};

// Several functions of one number at once.
using ValuesAt = std::function<std::vector<double>(double p)>;

// `f` at p gives `here`. Steps keep lower <= p ± h <= upper and begin at h = 0.01 max(|p|, typical), less
// beside a bound; where a bound leaves next to no room on one side, one-sided differences of `here` serve,
// not extrapolated. A component whose longer steps leave its domain is extrapolated from the shorter ones.
NLSQ_API ExtrapolatedSlopes extrapolated_slopes(const ValuesAt& f, std::span<const double> here, double p,
                                                double typical, double lower, double upper);

}  // namespace nlsq::inline v0
