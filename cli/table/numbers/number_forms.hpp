// Rewrites numbers as spreadsheets and publications print them ("12.5%", "1 234" with a no-break space) as
// plain decimal text. parse_number calls it only after the plain form was not recognised.
#pragma once

#include "table/numbers/number.hpp"

#include <array>
#include <optional>
#include <string_view>

namespace nlsq::cli {

using NumberBuffer = std::array<char, 400>;

// Returns `text` without the separators of `format` between groups of digits, written to `buffer`. Returns
// nothing if the groups are not 1-3 digits followed by groups of three, or if the text does not fit.
std::optional<std::string_view> without_thousands(std::string_view text, const NumberFormat& format,
                                                  NumberBuffer& buffer) noexcept;

// Returns the plain form of `text`, written to `buffer`. Typographic spaces around it are removed, and those
// between groups of three digits. A percent sign divides by 100. A typographic minus (U+2212) becomes "-".
// Returns nothing if `text` has none of these.
std::optional<std::string_view> plain_form(std::string_view text, const NumberFormat& format,
                                           NumberBuffer& buffer) noexcept;

// Removes blanks, typographic spaces and characters of no width from both ends.
std::string_view trim_spaces(std::string_view text) noexcept;

// Returns the length in bytes of the typographic space or character of no width at the start of `text`, or 0.
std::size_t typographic_space(std::string_view text) noexcept;

// Does the same for characters of no width alone.
std::size_t zero_width(std::string_view text) noexcept;

}  // namespace nlsq::cli
