// UTF-8: where text stops being valid, and what one sees of a byte string.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nlsq::cli {

// Number of leading bytes of `text` that are valid UTF-8 without NUL; text.size() if all are. A
// sequence cut short by the end counts as invalid. Overlong forms, surrogates and values beyond
// U+10FFFF are invalid (Unicode 15, table 3-7).
std::size_t valid_utf8_prefix(std::string_view text) noexcept;

// Length of an unfinished but so far valid sequence at the end of `text`: 0 to 3.
std::size_t unfinished_utf8_suffix(std::string_view text) noexcept;

// Code points in valid UTF-8: what a person counts as columns.
std::size_t count_code_points(std::string_view text) noexcept;

// For messages: control bytes and invalid UTF-8 as \xNN, cut to about `limit` bytes with "...".
std::string printable(std::string_view text, std::size_t limit = 40);

}  // namespace nlsq::cli
