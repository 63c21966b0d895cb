// Random numbers that are the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace nlsq::inline v0 {

// Draws random numbers by SplitMix64 (Steele, Lea, Flood, Fast splittable pseudorandom number generators,
// OOPSLA 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() { return mixed(state_ += 0x9e3779b97f4a7c15); }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }  // [0, 1)
  // Returns a number of either sign, with a magnitude between `least` and `most`.
  double of_either_sign(double least, double most) {
    const double magnitude = least + (most - least) * uniform();
    return below(2) == 0 ? -magnitude : magnitude;
  }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(uniform() * static_cast<double>(n)); }

  // Scrambles the state.
  static std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

// Fills v with numbers from 0.5 to 1.5 of either sign: none of them is near 0.
inline void fill_with_signs(Random& random, std::span<double> v) {
  for (double& number : v) number = random.of_either_sign(0.5, 1.5);
}

}  // namespace nlsq::inline v0
