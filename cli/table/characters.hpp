// Classifies ASCII characters, whatever the locale.
#pragma once

namespace nlsq::cli {

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

}  // namespace nlsq::cli
