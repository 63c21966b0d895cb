// Declares the number formats of the library, with their roundoff and range. Every precision choice uses
// them.
#pragma once

#include <nlsq/export.hpp>

#include <cstdint>
#include <string_view>

namespace nlsq::inline v0 {

// The formats are ordered by the length of the significand: a larger enumerator has at least as many digits.
enum class Format : std::uint8_t { bf16, f16, f32, f64 };

struct FormatInfo {
  const char* name;
  double unit_roundoff;  // largest relative error of rounding to nearest: 2^-p for p binary digits
  double min_normal;
  double max;
  int bytes;
};

NLSQ_API const FormatInfo& info(Format format) noexcept;
NLSQ_API const char* name(Format format) noexcept;
// Accepts "bf16", "f16", "f32", "f64" and the aliases bfloat16, half, float16, float, float32, double,
// float64. Throws a ValidationError that lists the allowed names.
NLSQ_API Format parse_format(std::string_view text);

}  // namespace nlsq::inline v0
