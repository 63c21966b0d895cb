// Defines the table of number formats, and the names that parse to them.
#include <nlsq/error.hpp>
#include <nlsq/format.hpp>

#include <fmt/format.h>

#include <array>
#include <utility>

namespace nlsq::inline v0 {

namespace {

constexpr std::array<FormatInfo, 4> kFormats{{
    {"bf16", 0x1p-8, 0x1p-126, 3.3895313892515355e38, 2},
    {"f16", 0x1p-11, 0x1p-14, 65504.0, 2},
    {"f32", 0x1p-24, 0x1p-126, 3.4028234663852886e38, 4},
    {"f64", 0x1p-53, 0x1p-1022, 1.7976931348623157e308, 8},
}};

constexpr std::array<std::pair<std::string_view, Format>, 11> kNames{{
    {"bf16", Format::bf16},
    {"bfloat16", Format::bf16},
    {"f16", Format::f16},
    {"half", Format::f16},
    {"float16", Format::f16},
    {"f32", Format::f32},
    {"float", Format::f32},
    {"float32", Format::f32},
    {"f64", Format::f64},
    {"double", Format::f64},
    {"float64", Format::f64},
}};

}  // namespace

const FormatInfo& info(Format format) noexcept { return kFormats[static_cast<std::size_t>(format)]; }

const char* name(Format format) noexcept { return info(format).name; }

Format parse_format(std::string_view text) {
  for (const auto& [known, format] : kNames) {
    if (text == known) return format;
  }
  throw ValidationError(fmt::format("unknown number format '{}': use bf16, f16, f32 or f64", text));
}

}  // namespace nlsq::inline v0
