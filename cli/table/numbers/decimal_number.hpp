// Parses decimal numbers in tables fast, eight digits at a time and with few branches. The result is always
// the nearest double. Unusual numbers are left to fast_float. The CSV reader uses it.
#pragma once

#include "table/numbers/decimal_scale.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

namespace nlsq::cli {

#if defined(__SIZEOF_INT128__)

namespace swar {

inline constexpr std::uint64_t kEvery = 0x0101010101010101u, kHigh = 0x80 * kEvery;

inline std::uint64_t load(const char* p) noexcept {
  std::uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

// Sets the high bit of every byte that is not a digit.
inline std::uint64_t not_digits(std::uint64_t word) noexcept {
  const std::uint64_t low = word ^ (0x30 * kEvery);  // digits become 0 to 9
  return (((low & ~kHigh) + 0x76 * kEvery) | low) & kHigh;
}

// Sets the high bit of every byte that equals `c`.
inline std::uint64_t equal(std::uint64_t word, char c) noexcept {
  const std::uint64_t difference = word ^ (static_cast<unsigned char>(c) * kEvery);
  return ~(((difference & ~kHigh) + ~kHigh) | difference) & kHigh;
}

// Returns the value of eight digits, the first in the lowest byte. Bytes of 0 count as the digit 0.
inline std::uint64_t eight_digits(std::uint64_t word) noexcept {
  word = ((word & (0x0F * kEvery)) * (1 + (10u << 8))) >> 8;
  word = ((word & 0x00FF00FF00FF00FFu) * (1 + (std::uint64_t{100} << 16))) >> 16;
  return ((word & 0x0000FFFF0000FFFFu) * (1 + (std::uint64_t{10000} << 32))) >> 32;
}

// Holds the digits of a number without its exponent.
struct Digits {
  std::uint64_t mantissa;
  int decimals;  // number of digits after the decimal sign
  int length;    // characters; 0: not handled here
};

// In these functions, `dots` has the high bit of the byte with the decimal sign, and `last` that of the last
// character. The lower of the two gives the number of decimals.

// Parses at most 7 characters that end before the first of `stops`.
inline Digits one_word(std::uint64_t word, std::uint64_t stops, char decimal) noexcept {
  const std::uint64_t stop = stops & -stops, last = stop >> 8;
  const std::uint64_t dots = equal(word, decimal) & (stop - 1);
  const int length = std::countr_zero(stops) / 8, digits = length - (dots != 0);
  if (digits == 0 || (dots & (dots - 1)) != 0) return {0, 0, 0};
  const std::uint64_t before = (dots >> 7) - 1;  // bytes before the decimal sign; all bytes if there is none
  const std::uint64_t packed = ((word & before) | ((word >> 8) & ~before)) << (8 * (8 - digits));
  return {eight_digits(packed), length - 1 - std::countr_zero(dots | last) / 8, length};
}

// Parses 8 to 15 characters that end before the first of `stops` in the second word.
inline Digits two_words(std::uint64_t first, std::uint64_t second, std::uint64_t stops,
                        char decimal) noexcept {
  using Wide = scale_detail::Wide;
  const std::uint64_t stop = stops & -stops;
  const std::uint64_t dots_first = equal(first, decimal), dots_second = equal(second, decimal) & (stop - 1);
  const std::uint64_t both = dots_first | dots_second;
  if ((both & (both - 1)) != 0 || (dots_first & dots_second) != 0) return {0, 0, 0};
  const int length = 8 + std::countr_zero(stops) / 8, digits = length - (both != 0);
  const Wide dots = Wide{dots_second} << 64 | dots_first, word = Wide{second} << 64 | first;
  const Wide before = (dots >> 7) - 1;
  const Wide packed = ((word & before) | ((word >> 8) & ~before)) << (8 * (16 - digits));
  const std::uint64_t mantissa = eight_digits(static_cast<std::uint64_t>(packed)) * 100000000u +
                                 eight_digits(static_cast<std::uint64_t>(packed >> 64));
  const int place = dots_first != 0    ? std::countr_zero(dots_first) / 8
                    : dots_second != 0 ? 8 + std::countr_zero(dots_second) / 8
                                       : length - 1;
  return {mantissa, length - 1 - place, length};
}

// Parses 17 to 23 characters with the decimal sign among the first 8, as %.17g and %.15f write them.
inline Digits three_words(std::uint64_t first, std::uint64_t second, const char* p, char decimal) noexcept {
  const std::uint64_t third = load(p + 16), stops = not_digits(third);
  const std::uint64_t dots = equal(first, decimal);
  const int behind = std::countr_zero(stops) / 8;  // characters in the third word; 8: no end in it
  const bool one_dot = dots != 0 && (dots & (dots - 1)) == 0 && equal(second, decimal) == 0;
  if (!one_dot || behind == 0 || behind == 8) return {0, 0, 0};
  const std::uint64_t before = (dots >> 7) - 1;
  const std::uint64_t a = (first & before) | ((first >> 8 | second << 56) & ~before);
  const std::uint64_t b = second >> 8 | third << 56;
  const int rest = behind - 1;  // digits in the third word without the decimal sign
  const std::uint64_t c = rest == 0 ? 0 : (third >> 8) << (8 * (8 - rest));
  constexpr std::uint64_t kTens[7] = {1, 10, 100, 1000, 10000, 100000, 1000000};
  const std::uint64_t leading = eight_digits(a) * 100000000u + eight_digits(b);
  if (rest > 3 && leading >= 10000000000000000000u / kTens[rest]) return {0, 0, 0};  // more than 19 digits
  return {leading * kTens[rest] + eight_digits(c), 16 + behind - 1 - std::countr_zero(dots) / 8, 16 + behind};
}

inline Digits read_digits(const char* p, char decimal) noexcept {
  const std::uint64_t first = load(p), stops = not_digits(first) & ~equal(first, decimal);
  if (stops != 0) return one_word(first, stops, decimal);
  const std::uint64_t second = load(p + 8), second_stops = not_digits(second) & ~equal(second, decimal);
  if (second_stops != 0) return two_words(first, second, second_stops, decimal);
  return three_words(first, second, p, decimal);
}

// Parses an exponent such as e+12 at `p` (its e). Returns null if it is invalid or has more than three
// digits.
inline const char* read_exponent(const char* p, int& exponent) noexcept {
  ++p;
  const bool negative = *p == '-';
  if (negative || *p == '+') ++p;
  const char* const digits = p;
  exponent = 0;
  for (; *p >= '0' && *p <= '9' && p - digits < 4; ++p) exponent = 10 * exponent + (*p - '0');
  if (p == digits || p - digits == 4) return nullptr;
  if (negative) exponent = -exponent;
  return p;
}

inline constexpr double kPowersOfTen[16] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                            1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

}  // namespace swar

// Parses a number at `p`: an optional minus, digits with at most one decimal sign, and an optional exponent.
// Returns its end, or null for anything else, which may still be a number. 24 bytes from `p` must be
// readable. A byte that is not part of a number must occur within them or soon after.
inline const char* parse_decimal(const char* p, char decimal, double& value) noexcept {
  if constexpr (std::endian::native != std::endian::little) return nullptr;
  const bool negative = *p == '-';
  p += negative;
  const swar::Digits digits = swar::read_digits(p, decimal);
  if (digits.length == 0) return nullptr;
  p += digits.length;
  double magnitude;
  if ((*p | 0x20) == 'e') {
    int exponent = 0;
    p = swar::read_exponent(p, exponent);
    exponent -= digits.decimals;
    if (p == nullptr || exponent < kLeastScale || exponent > kGreatestScale) return nullptr;
    magnitude = digits.mantissa == 0 ? 0.0 : scale_by_ten(digits.mantissa, exponent);
  } else if (digits.length < 16) {
    // Both numbers are exact, the digits below 2^53 and the power of ten below 10^22, so the quotient is
    // rounded once (Clinger, PLDI 1990).
    magnitude =
        static_cast<double>(static_cast<std::int64_t>(digits.mantissa)) / swar::kPowersOfTen[digits.decimals];
  } else {
    magnitude = digits.mantissa == 0 ? 0.0 : scale_by_ten(digits.mantissa, -digits.decimals);
  }
  value = std::bit_cast<double>(std::bit_cast<std::uint64_t>(magnitude) | std::uint64_t{negative} << 63);
  return p;
}

#else

inline const char* parse_decimal(const char*, char, double&) noexcept { return nullptr; }

#endif

}  // namespace nlsq::cli
