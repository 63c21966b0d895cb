// Computes mantissa * 10^exponent as the nearest double with one or two multiplications: the Eisel-Lemire
// algorithm (Lemire, "Number parsing at a gigabyte per second", 2021; Mushtak and Lemire, 2022). It is
// restricted to exponents that need no fallback and give neither infinity nor denormals. decimal_number.hpp
// uses it.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace nlsq::cli {

#if defined(__SIZEOF_INT128__)

inline constexpr int kLeastScale = -27, kGreatestScale = 55;

namespace scale_detail {

__extension__ using Wide = unsigned __int128;

// Returns 5^exponent with its highest bit at bit 127. It is exact if it fits, otherwise truncated. For
// negative exponents, it is the reciprocal, one above the truncated value.
constexpr std::array<Wide, kGreatestScale - kLeastScale + 1> powers_of_five() {
  std::array<Wide, kGreatestScale - kLeastScale + 1> table{};
  Wide power = 1;  // 5^55 is below 2^128
  for (int q = 0; q <= kGreatestScale; ++q, power *= 5) {
    Wide shifted = power;
    while ((shifted >> 127) == 0) shifted <<= 1;
    table[static_cast<std::size_t>(q - kLeastScale)] = shifted;
  }
  power = 5;
  for (int q = -1; q >= kLeastScale; --q, power *= 5) {
    // Computes the binary digits of 2^k / power, starting with the first one, by 128 steps of long division.
    Wide remainder = 1, quotient = 0;
    while (remainder < power) remainder <<= 1;
    for (int bit = 0; bit < 128; ++bit) {
      const bool one = remainder >= power;
      quotient = quotient << 1 | (one ? 1 : 0);
      remainder = (one ? remainder - power : remainder) << 1;
    }
    table[static_cast<std::size_t>(q - kLeastScale)] = quotient + 1;
  }
  return table;
}

inline constexpr auto kPowersOfFive = powers_of_five();

}  // namespace scale_detail

// Requires mantissa != 0 and kLeastScale <= exponent <= kGreatestScale.
inline double scale_by_ten(std::uint64_t mantissa, int exponent) noexcept {
  using scale_detail::Wide;
  const int zeros = std::countl_zero(mantissa);
  const std::uint64_t w = mantissa << zeros;
  const Wide five = scale_detail::kPowersOfFive[static_cast<std::size_t>(exponent - kLeastScale)];
  Wide product = Wide{w} * static_cast<std::uint64_t>(five >> 64);
  // These are the bits below the 55 used ones. If all are ones, a carry is possible.
  constexpr std::uint64_t kUndecided = 0x1FF;
  if ((static_cast<std::uint64_t>(product >> 64) & kUndecided) == kUndecided) {
    product += (Wide{w} * static_cast<std::uint64_t>(five)) >> 64;
  }
  const auto high = static_cast<std::uint64_t>(product >> 64), low = static_cast<std::uint64_t>(product);
  const int upper = static_cast<int>(high >> 63);
  const int shift = upper + 9;  // keeps 54 bits, one of them for rounding
  std::uint64_t bits = high >> shift;
  // Exactly half way between two doubles: rounds to even.
  if (low <= 1 && exponent >= -4 && exponent <= 23 && (bits & 3) == 1 && (bits << shift) == high) {
    bits &= ~std::uint64_t{1};
  }
  bits = (bits + (bits & 1)) >> 1;  // 53 bits, or 2^53: the addition below carries into the exponent
  // floor(log2(10^exponent)) by a fraction that is exact for these exponents.
  const int binary = ((217706 * exponent) >> 16) + 63 + upper - zeros;
  return std::bit_cast<double>((static_cast<std::uint64_t>(binary + 1022) << 52) + bits);
}

#endif

}  // namespace nlsq::cli
