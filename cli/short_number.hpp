// The commonest numbers, of at most 15 characters, eight digits at a time and with hardly a branch. Exact:
// a mantissa below 2^53 divided by a power of ten up to 10^22 rounds once (Clinger, PLDI 1990).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace nlsq::cli {

namespace swar {

inline constexpr std::uint64_t kEvery = 0x0101010101010101u, kHigh = 0x80 * kEvery;

inline std::uint64_t load(const char* p) noexcept {
  std::uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

// The high bit of every byte that is not a digit.
inline std::uint64_t not_digits(std::uint64_t word) noexcept {
  const std::uint64_t low = word ^ (0x30 * kEvery);  // digits become 0 to 9
  return (((low & ~kHigh) + 0x76 * kEvery) | low) & kHigh;
}

// The high bit of every byte that is `c`.
inline std::uint64_t equal(std::uint64_t word, char c) noexcept {
  const std::uint64_t difference = word ^ (static_cast<unsigned char>(c) * kEvery);
  return ~(((difference & ~kHigh) + ~kHigh) | difference) & kHigh;
}

// Eight digits, the first in the lowest byte; bytes of 0 count as the digit 0.
inline std::uint64_t eight_digits(std::uint64_t word) noexcept {
  word = ((word & (0x0F * kEvery)) * (1 + (10u << 8))) >> 8;
  word = ((word & 0x00FF00FF00FF00FFu) * (1 + (std::uint64_t{100} << 16))) >> 16;
  return ((word & 0x0000FFFF0000FFFFu) * (1 + (std::uint64_t{10000} << 32))) >> 32;
}

inline constexpr double kPowersOfTen[16] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                            1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

__extension__ using Wide = unsigned __int128;

// A number of `length` characters, 8 to 15, in two words.
inline bool two_words(std::uint64_t first, std::uint64_t second, int length, char decimal,
                      double& value) noexcept {
  const Wide word = Wide{second} << 64 | first;
  const std::uint64_t inside = (std::uint64_t{1} << (8 * (length - 8))) - 1;
  const std::uint64_t dots_first = equal(first, decimal), dots_second = equal(second, decimal) & inside;
  if (std::popcount(dots_first) + std::popcount(dots_second) > 1) return false;
  const Wide dots = Wide{dots_second} << 64 | dots_first;
  const Wide before = (dots >> 7) - 1;  // the bytes before the decimal sign; all without one
  const int digits = length - (dots != 0);
  const int place =
      dots_first != 0 ? std::countr_zero(dots_first) / 8 : 8 + std::countr_zero(dots_second) / 8;
  const Wide packed = ((word & before) | ((word >> 8) & ~before)) << (8 * (16 - digits));
  const std::uint64_t mantissa = eight_digits(static_cast<std::uint64_t>(packed)) * 100000000u +
                                 eight_digits(static_cast<std::uint64_t>(packed >> 64));
  const int decimals = dots != 0 ? length - 1 - place : 0;
  value = static_cast<double>(static_cast<std::int64_t>(mantissa)) / kPowersOfTen[decimals];
  return true;
}

}  // namespace swar

// A number at `p`: an optional minus, digits, at most one decimal sign; 15 characters at most behind the
// sign, and no exponent. Returns its end; null for anything else, which may still be a number. 17 bytes
// behind `p` must be readable.
inline const char* parse_short_number(const char* p, char decimal, double& value) noexcept {
  using namespace swar;
  if constexpr (std::endian::native != std::endian::little) return nullptr;
  const bool negative = *p == '-';
  p += negative;
  const std::uint64_t word = load(p);
  const std::uint64_t stops = not_digits(word) & ~equal(word, decimal);
  int length;
  if (stops != 0) {
    length = std::countr_zero(stops) / 8;
    const std::uint64_t dots = equal(word, decimal) & ((stops & -stops) - 1);
    if ((dots & (dots - 1)) != 0) return nullptr;
    const std::uint64_t before = (dots >> 7) - 1;  // the bytes before the decimal sign; all without one
    const int digits = length - (dots != 0);
    if (digits == 0) return nullptr;
    const std::uint64_t packed = ((word & before) | ((word >> 8) & ~before)) << (8 * (8 - digits));
    const int decimals = dots != 0 ? length - 1 - std::countr_zero(dots) / 8 : 0;
    value = static_cast<double>(static_cast<std::int64_t>(eight_digits(packed))) / kPowersOfTen[decimals];
  } else {
    const std::uint64_t second = load(p + 8);
    const std::uint64_t second_stops = not_digits(second) & ~equal(second, decimal);
    if (second_stops == 0) return nullptr;
    length = 8 + std::countr_zero(second_stops) / 8;
    if (!two_words(word, second, length, decimal, value)) return nullptr;
  }
  if ((p[length] | 0x20) == 'e') return nullptr;
  value = negative ? -value : value;
  return p + length;
}

}  // namespace nlsq::cli
