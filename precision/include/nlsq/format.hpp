// Number formats and what each can promise.
#pragma once

#include <nlsq/export.hpp>

#include <cstdint>
#include <string_view>

namespace nlsq::inline v0 {

// Ordered by significand: a larger value never has fewer digits.
enum class Format : std::uint8_t { bf16, f16, f32, f64 };

struct FormatInfo {
  const char* name;
  double unit_roundoff;  // largest relative error of rounding to nearest: 2^-p
  double min_normal;
  double max;
  int bytes;
};

NLSQ_API const FormatInfo& info(Format format) noexcept;
NLSQ_API const char* name(Format format) noexcept;
// "bf16", "f16", "f32", "f64" and their aliases (bfloat16, half, float16, float, float32, double,
// float64); throws ValidationError naming what is allowed.
NLSQ_API Format parse_format(std::string_view text);

}  // namespace nlsq::inline v0
