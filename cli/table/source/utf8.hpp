// Validates UTF-8, and makes texts for messages. The table readers and reports use it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nlsq::cli {

// Returns the number of leading bytes of `text` that are valid UTF-8 without NUL. This is text.size() if all
// are. A sequence cut by the end is invalid, and so are overlong forms, surrogates and values beyond U+10FFFF
// (Unicode 15, table 3-7).
std::size_t valid_utf8_prefix(std::string_view text) noexcept;

// Returns the length of an incomplete but so far valid sequence at the end of `text`: 0 to 3.
std::size_t unfinished_utf8_suffix(std::string_view text) noexcept;

// Returns the number of code points in valid UTF-8. Messages use it as the column number.
std::size_t count_code_points(std::string_view text) noexcept;

// Shows control bytes and invalid UTF-8 as \xNN, and cuts the text to about `limit` bytes with "...", for
// messages.
std::string printable(std::string_view text, std::size_t limit = 40);

}  // namespace nlsq::cli
