// Numbers into a narrower format and back, with an account of what was lost.
//
// bf16 and f16 are held as the bits of std::uint16_t. Results are the same whatever the compiler or CPU,
// and do not depend on how a span is cut up, but for the scale and the stochastic sequence.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/format.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

enum class Rounding : std::uint8_t {
  direct,     // to nearest, ties to even, once; subnormal results as IEEE 754 has them
  scaled,     // the same, of values times a power of two (2^-1022 to 2^1022): root mean square in
              // [1, 2), nothing overflows
  stochastic  // up or down with probabilities that make the mean right, by a seeded sequence
};

// What a conversion did. A stored number is value * scale, rounded.
struct Conversion {
  double scale = 1;                   // a power of two
  double largest_absolute_error = 0;  // in units of the values given; overflows, infinities, NaN left out
  double largest_relative_error = 0;  // of nonzero values; 1 where one became zero
  std::size_t overflows = 0;          // finite values that became infinite
  std::size_t underflows = 0;         // nonzero ones stored inexactly below the least normal number
  std::size_t nans = 0;               // they stay NaN, quiet, with what fits of their payload
};

// Stored numbers in the vector that their format calls for; the other two are empty.
struct NLSQ_API Converted {
  Conversion conversion;
  Format format = Format::f64;
  std::vector<std::uint16_t> halves;  // bf16, f16
  std::vector<float> floats;          // f32
  std::vector<double> doubles;        // f64: the values as they came, whatever the rounding

  // The numbers in the units they came in: stored / scale.
  std::vector<double> values() const;
};

// `seed` matters to stochastic rounding alone: value i of a seed is always rounded by the same draw.
NLSQ_API Converted convert(std::span<const double> from, Format to, Rounding rounding = Rounding::scaled,
                           std::uint64_t seed = 0);
NLSQ_API Converted convert(std::span<const float> from, Format to, Rounding rounding = Rounding::scaled,
                           std::uint64_t seed = 0);

// The same into storage of the caller, as many elements as values. ConversionError where the sizes
// differ, or `to` is not a format of 16 bits.
NLSQ_API Conversion convert_into(std::span<const double> from, Format to, std::span<std::uint16_t> into,
                                 Rounding rounding = Rounding::scaled, std::uint64_t seed = 0);
NLSQ_API Conversion convert_into(std::span<const float> from, Format to, std::span<std::uint16_t> into,
                                 Rounding rounding = Rounding::scaled, std::uint64_t seed = 0);
NLSQ_API Conversion convert_into(std::span<const double> from, std::span<float> into,
                                 Rounding rounding = Rounding::scaled, std::uint64_t seed = 0);

// Numbers of 16 bits widened, exactly; signalling NaN become quiet. ConversionError as above.
NLSQ_API void widen(std::span<const std::uint16_t> from, Format format, std::span<float> into);
NLSQ_API void widen(std::span<const std::uint16_t> from, Format format, std::span<double> into);

}  // namespace nlsq::inline v0
