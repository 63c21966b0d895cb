// Random numbers for the bootstrap: a stream for each sample, so that samples do not depend on the order in
// which threads draw them.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace nlsq::inline v0 {

// SplitMix64 (Steele, Lea, Flood, Fast splittable pseudorandom number generators, OOPSLA 2014).
class SampleRandom {
 public:
  SampleRandom(std::uint64_t seed, std::uint64_t sample) : state_(mixed(seed) + sample) {
    state_ = mixed(state_);
  }
  std::uint64_t bits() { return mixed(state_ += 0x9e3779b97f4a7c15); }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }  // [0, 1)
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(uniform() * static_cast<double>(n)); }

  // A standard normal number by the polar method (Marsaglia and Bray, SIAM Review 6, 1964).
  double normal() {
    for (;;) {
      const double u = 2 * uniform() - 1, v = 2 * uniform() - 1, s = u * u + v * v;
      if (s < 1 && s > 0) return u * std::sqrt(-2 * std::log(s) / s);
    }
  }

  // A Poisson number of this mean.
  double poisson(double mean);

 private:
  static std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

}  // namespace nlsq::inline v0
