// Rounding and encoding of one block of numbers. convert.cpp uses it. The loops have no branches, so that the
// compiler can vectorize them. Values are doubles; a rounded value is exactly representable in the target
// format, so the encoders do not round again.
#pragma once

#include <nlsq/format.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace nlsq::inline v0 {

inline constexpr std::size_t kConvertBlock = 256;

// A format: its number of binary digits, and the exponents of its normal numbers.
struct Shape {
  int digits, lowest, highest;
};

constexpr Shape shape_of(Format format) {
  switch (format) {
    case Format::bf16: return {8, -126, 127};
    case Format::f16: return {11, -14, 15};
    case Format::f32: return {24, -126, 127};
    default: return {53, -1022, 1023};
  }
}

// 2^exponent, for the exponents of normal doubles.
constexpr double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

inline constexpr std::uint64_t kExponentBits = std::uint64_t{0x7ff} << 52;
inline constexpr std::uint64_t kSignBit = std::uint64_t{1} << 63;

// Spacing of the format's numbers at v. Below the smallest normal number it is the spacing there.
inline double quantum(double v, double least, double step) {
  const double binade = std::bit_cast<double>(std::bit_cast<std::uint64_t>(v) & kExponentBits);
  return (binade > least ? binade : least) * step;
}

// 1 / q for a power of two q.
inline double reciprocal(double q) {
  return std::bit_cast<double>((std::uint64_t{2046} << 52) - std::bit_cast<std::uint64_t>(q));
}

// Gives `size` the sign of v; infinity if `size` exceeds `largest`. An infinite or NaN v is returned
// unchanged.
inline double bounded(double size, double v, double largest) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const std::uint64_t sign = std::bit_cast<std::uint64_t>(v) & kSignBit;
  const double limited = size > largest ? inf : size;
  const double result = std::bit_cast<double>(std::bit_cast<std::uint64_t>(limited) | sign);
  return std::fabs(v) < inf ? result : v;
}

// Rounds to nearest, ties to even. Adding 2^52 removes the fraction.
inline void round_to_nearest(Format to, const double* v, double* rounded) {
  const Shape shape = shape_of(to);
  const double least = power_of_two(shape.lowest), step = power_of_two(1 - shape.digits),
               largest = info(to).max;
  for (std::size_t i = 0; i < kConvertBlock; ++i) {
    const double q = quantum(v[i], least, step);
    const double count = std::fabs(v[i]) * reciprocal(q);
    rounded[i] = bounded(((count + 0x1p52) - 0x1p52) * q, v[i], largest);
  }
}

// Random number i of a seed, uniform in [0, 1). SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), used as a
// function of the counter i.
inline double draw(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return std::bit_cast<double>((z >> 12) | (std::uint64_t{1023} << 52)) - 1;
}

// 1 if x < 0, else 0; without a branch that could be mispredicted.
inline double one_if_negative(double x) {
  const std::uint64_t mask = 0 - (std::bit_cast<std::uint64_t>(x) >> 63);
  return std::bit_cast<double>(mask & std::bit_cast<std::uint64_t>(1.0));
}

// Rounds away from zero with a probability equal to the fractional part of |v| / quantum.
inline void round_stochastically(Format to, std::uint64_t seed, std::size_t first, const double* v,
                                 double* rounded) {
  const Shape shape = shape_of(to);
  const double least = power_of_two(shape.lowest), step = power_of_two(1 - shape.digits),
               largest = info(to).max;
  double draws[kConvertBlock];
  for (std::size_t i = 0; i < kConvertBlock; ++i) draws[i] = draw(seed, first + i);
  for (std::size_t i = 0; i < kConvertBlock; ++i) {
    const double q = quantum(v[i], least, step);
    const double count = std::fabs(v[i]) * reciprocal(q);
    const double nearest = (count + 0x1p52) - 0x1p52;
    const double below = nearest - one_if_negative(count - nearest);
    const double up = one_if_negative(draws[i] - (count - below));
    rounded[i] = bounded((below + up) * q, v[i], largest);
  }
}

// Selects one of two computed values. A conditional expression might compile to a branch.
inline std::uint32_t choose(bool first, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t mask = 0u - static_cast<std::uint32_t>(first);
  return (a & mask) | (b & ~mask);
}

// Encoders. A NaN keeps as much of its payload as fits; the conversion to float already made it quiet.
inline std::uint16_t to_bf16(double v) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(v)) >> 16);
}

inline std::uint16_t to_f16(double v) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(static_cast<float>(v));
  const std::uint32_t size = bits & 0x7fffffffu;
  // Below 2^-14, adding 0.5 yields the number of steps of 2^-24, because that is the last bit of a float
  // there.
  const float shifted = std::bit_cast<float>(size) + 0.5f;
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u;
  const std::uint32_t normal = (size - (112u << 23)) >> 13;
  const std::uint32_t special = 0x7c00u | (size >> 13 & 0x3ffu);
  const std::uint32_t finite = choose(size < (113u << 23), subnormal, normal);
  return static_cast<std::uint16_t>(choose(size >= 0x7f800000u, special, finite) | (bits >> 16 & 0x8000u));
}

inline float from_bf16(std::uint16_t half) {
  const std::uint32_t bits = static_cast<std::uint32_t>(half) << 16;
  return std::bit_cast<float>(bits | choose((bits & 0x7fffffffu) > 0x7f800000u, 0x400000u, 0));
}

inline float from_f16(std::uint16_t half) {
  const std::uint32_t size = half & 0x7fffu, sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(size)) * 0x1p-24f);
  const std::uint32_t normal = (size << 13) + (112u << 23);
  const std::uint32_t special = 0x7f800000u | size << 13 | choose(size > 0x7c00u, 0x400000u, 0);
  const std::uint32_t finite = choose(size < 0x400u, subnormal, normal);
  return std::bit_cast<float>(choose(size >= 0x7c00u, special, finite) | sign);
}

}  // namespace nlsq::inline v0
