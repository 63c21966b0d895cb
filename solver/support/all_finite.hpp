// Tests whether all numbers of an array are finite.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace nlsq::inline v0 {

// Returns true if all values are finite. It works on the bits, so that it vectorizes: a survey of data should
// take no longer than reading them. An exponent of all ones carries into the top bit.
inline bool all_finite(std::span<const double> values) {
  constexpr std::uint64_t kExponent = 0x7ff0'0000'0000'0000, kOne = 0x0010'0000'0000'0000;
  std::uint64_t carried = 0;
  for (const double v : values) carried |= (std::bit_cast<std::uint64_t>(v) & kExponent) + kOne;
  return carried >> 63 == 0;
}

}  // namespace nlsq::inline v0
