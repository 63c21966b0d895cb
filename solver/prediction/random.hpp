// Random numbers for the bootstrap: a stream for each sample, so that samples do not depend on the order in
// which threads draw them.
#pragma once

#include "support/random.hpp"

#include <cmath>
#include <cstdint>

namespace nlsq::inline v0 {

class SampleRandom : public Random {
 public:
  SampleRandom(std::uint64_t seed, std::uint64_t sample) : Random(mixed(mixed(seed) + sample)) {}

  // A standard normal number by the polar method (Marsaglia and Bray, SIAM Review 6, 1964).
  double normal() {
    for (;;) {
      const double u = 2 * uniform() - 1, v = 2 * uniform() - 1, s = u * u + v * v;
      if (s < 1 && s > 0) return u * std::sqrt(-2 * std::log(s) / s);
    }
  }

  // A Poisson number of this mean.
  double poisson(double mean);
};

}  // namespace nlsq::inline v0
