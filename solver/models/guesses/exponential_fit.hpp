// Fits one exponential on any abscissa t: y ~ a exp(-rate t) [+ c]. With t = log x it is a power law, with t
// = 1/x an Arrhenius law. The guesses of exponentials and powers use it.
#pragma once

#include "models/guesses/sample.hpp"

#include <span>

namespace nlsq::inline v0::guessing {

struct ExponentialFit {
  double a = 0, rate = 0, c = 0;
};

// Fits y of the sample against t, which may be in any order. If `offset`, the constant c is fitted, otherwise
// c = 0. Rates of either sign are tried.
ExponentialFit fit_exponential(const Sample& sample, std::span<const double> t, bool offset);

inline constexpr double kSlowestRate = 0.01;  // rate times the range of x; slower ones are straight lines

// Returns the largest useful rate times the range of x. A faster term has decayed to e^-8 at the second x and
// is a spike on the first row. `u` is in [0, 1].
double fastest_rate(std::span<const double> u);

}  // namespace nlsq::inline v0::guessing
