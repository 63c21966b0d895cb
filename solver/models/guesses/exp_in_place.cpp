// Implements exp_in_place(): exp(x) = 2^k exp(r) with |r| <= log(2)/2, and a Taylor polynomial for exp(r).
#include "models/guesses/separable.hpp"

#include "models/guesses/wide_vectors.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace nlsq::inline v0::guessing {
namespace {

[[gnu::always_inline]] inline void exponentiate(std::span<double> values) {
  constexpr double kPerLog2 = 1.4426950408889634;                                   // 1 / log(2)
  constexpr double kLog2High = 0x1.62e42fefap-1, kLog2Low = 0x1.cf79abc9e3b3ap-40;  // their sum is log(2)
  constexpr double kLeast = -340, kMost = 709;
  constexpr double kShift = 0x1.8p52;  // adding it rounds to an integer, which is then in the low bits
  // This loop is separate, because its comparisons would keep the other one from becoming vector
  // instructions.
  for (double& value : values) value = std::max(kLeast, std::min(kMost, value));
  for (double& value : values) {
    const double shifted = value * kPerLog2 + kShift;
    const double k = shifted - kShift;
    const double r = (value - k * kLog2High) - k * kLog2Low;
    double sum = 1.0 / 479001600;
    sum = sum * r + 1.0 / 39916800;
    sum = sum * r + 1.0 / 3628800;
    sum = sum * r + 1.0 / 362880;
    sum = sum * r + 1.0 / 40320;
    sum = sum * r + 1.0 / 5040;
    sum = sum * r + 1.0 / 720;
    sum = sum * r + 1.0 / 120;
    sum = sum * r + 1.0 / 24;
    sum = sum * r + 1.0 / 6;
    sum = sum * r + 0.5;
    sum = sum * r + 1.0;
    sum = sum * r + 1.0;
    const std::uint64_t exponent = (std::bit_cast<std::uint64_t>(shifted) + 1023) << 52;
    value = sum * std::bit_cast<double>(exponent);
  }
}

NLSQ_WIDE_VECTORS void exponentiate_wide(std::span<double> values) { exponentiate(values); }

}  // namespace

void exp_in_place(std::span<double> values) {
  if (has_wide_vectors()) exponentiate_wide(values);
  else exponentiate(values);
}

}  // namespace nlsq::inline v0::guessing
