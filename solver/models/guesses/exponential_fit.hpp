// Fits one exponential on any abscissa t: y ~ a exp(-rate t) [+ c]. With t = log x it is a power law, with t
// = 1/x an Arrhenius law. The guesses of exponentials and powers use it.
#pragma once

#include <span>

namespace nlsq::inline v0::guessing {

struct ExponentialFit {
  double a = 0, rate = 0, c = 0;
};

// t may be in any order. `offset`: fit the constant c, otherwise c = 0. Rates of either sign are tried.
ExponentialFit fit_exponential(std::span<const double> t, std::span<const double> y, bool offset);

}  // namespace nlsq::inline v0::guessing
