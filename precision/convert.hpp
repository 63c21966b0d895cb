// Rounding of numbers to the formats of 16 bits. The numbers stay doubles or floats, with fewer digits. The
// passes over J in f16, the probe and `evaluate` use it. Results do not depend on the compiler or the CPU.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/format.hpp>

#include <span>

namespace nlsq::inline v0 {

// Rounds each value once to the nearest number of `to` (bf16 or f16), ties to even. Subnormal results follow
// IEEE 754. A finite value beyond the range becomes infinite; infinities and NaN stay.
NLSQ_API void round_to(Format to, std::span<double> values);

// Rounds value * scale in the same way, and then divides by the scale. The scale is a power of two (2^-1022
// to 2^1022) that brings the root mean square of the finite values into [1, 2). It is lower if the largest
// value would overflow.
NLSQ_API void round_scaled_to(Format to, std::span<double> values);
NLSQ_API void round_scaled_to(Format to, std::span<float> values);

}  // namespace nlsq::inline v0
