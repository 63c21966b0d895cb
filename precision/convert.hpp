// Conversion of numbers to a narrower format and back. It also reports the errors it made.
//
//  bf16 and f16 values are stored as the bits of a std::uint16_t. Results do not depend on the compiler or
//  the CPU. They do not depend on how the data are split into calls either, except for the scale and the
//  stochastic sequence.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/format.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

enum class Rounding : std::uint8_t {
  direct,  // to nearest, ties to even, rounded once; subnormal results follow IEEE 754
  scaled,  // the same, after a scaling by a power of two (2^-1022 to 2^1022) that brings the root mean square
           // into [1, 2), or lower where the largest value would overflow
  stochastic  // up or down, with probabilities that make the expected value exact; a seeded sequence
};

// What a conversion did. A stored number is value * scale, rounded.
struct Conversion {
  double scale = 1;                   // a power of two
  double largest_absolute_error = 0;  // in the units of the input; overflows, infinities and NaN do not count
  double largest_relative_error = 0;  // of nonzero values; 1 where one became zero
  std::size_t overflows = 0;          // finite values that became infinite
  std::size_t underflows = 0;         // nonzero values stored inexactly below the smallest normal number
  std::size_t nans = 0;               // NaN stay NaN: quiet, with as much of the payload as fits
};

// The converted numbers, in the vector of their format. The other two vectors are empty.
struct NLSQ_API Converted {
  Conversion conversion;
  Format format = Format::f64;
  std::vector<std::uint16_t> halves;  // bf16, f16
  std::vector<float> floats;          // f32
  std::vector<double> doubles;        // f64: the values unchanged, whatever the rounding

  // Returns the numbers in the units of the input: stored / scale.
  std::vector<double> values() const;
};

// Converts `from` to the format `to`. Only stochastic rounding uses `seed`: for a given seed, value i is
// always rounded with the same random number.
NLSQ_API Converted convert(std::span<const double> from, Format to, Rounding rounding = Rounding::scaled,
                           std::uint64_t seed = 0);
NLSQ_API Converted convert(std::span<const float> from, Format to, Rounding rounding = Rounding::scaled,
                           std::uint64_t seed = 0);

// Converts into the caller's storage, which must have as many elements as there are values. Throws
// ConversionError if the sizes differ, or if `to` is not a 16-bit format.
NLSQ_API Conversion convert_into(std::span<const double> from, Format to, std::span<std::uint16_t> into,
                                 Rounding rounding = Rounding::scaled, std::uint64_t seed = 0);
NLSQ_API Conversion convert_into(std::span<const float> from, Format to, std::span<std::uint16_t> into,
                                 Rounding rounding = Rounding::scaled, std::uint64_t seed = 0);
NLSQ_API Conversion convert_into(std::span<const double> from, std::span<float> into,
                                 Rounding rounding = Rounding::scaled, std::uint64_t seed = 0);

// Widens 16-bit numbers exactly; a signalling NaN becomes quiet. Throws ConversionError as above.
NLSQ_API void widen(std::span<const std::uint16_t> from, Format format, std::span<float> into);
NLSQ_API void widen(std::span<const std::uint16_t> from, Format format, std::span<double> into);

}  // namespace nlsq::inline v0
