// Implements Poisson numbers.
#include "prediction/random.hpp"

#include <nlsq/special_functions.hpp>

namespace nlsq::inline v0 {

// Below a mean of 10, factors are drawn until their product falls below exp(-mean). Above, transformed
// rejection (W. Hörmann, Insurance: Mathematics and Economics 12, 1993, algorithm PTRS).
double SampleRandom::poisson(double mean) {
  if (mean < 10) {
    const double limit = std::exp(-mean);
    double count = 0;
    for (double product = uniform(); product > limit; product *= uniform()) ++count;
    return count;
  }
  const double b = 0.931 + 2.53 * std::sqrt(mean), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), inside = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = uniform() - 0.5, v = uniform(), room = 0.5 - std::fabs(u);
    const double count = std::floor((2 * a / room + b) * u + mean + 0.43);
    if (room >= 0.07 && v <= inside) return count;
    if (!(count >= 0) || (room < 0.013 && v > room)) continue;
    const double hat = std::log(v * inverse_alpha / (a / (room * room) + b));
    if (hat <= count * std::log(mean) - mean - lgamma_function(count + 1)) return count;
  }
}

}  // namespace nlsq::inline v0
