// Converts text to the nearest double, including denormals, independent of the locale. The CSV reader and the
// options use it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nlsq::cli {

// From here on, different whole numbers may read as the same double.
inline constexpr double kFirstMerged = 0x1p53;

struct NumberFormat {
  char decimal = '.';
  char thousands = '\0';  // '\0': none; otherwise groups of exactly three digits before the decimal sign
};

enum class NumberStatus {
  ok,
  underflow,  // nonzero text that becomes zero: 1e-400
  overflow,   // 1e400
  infinite,   // inf, infinity
  hex,        // 0x1p3
  missing,    // empty, NA, N/A, #N/A, NaN, null, none, -, ?, .
  text        // anything else
};

// Parses `text` without surrounding blanks, in plain decimal form or as plain_form (number_forms.hpp)
// rewrites it: 12.5% is 0.125. A leading + is accepted. Sets `value` for ok and underflow.
NumberStatus parse_number(std::string_view text, const NumberFormat& format, double& value) noexcept;

// Returns true if the cell of a column of texts is missing: empty, NA, N/A, #N/A, NaN or null. The other
// words and signs for a missing number (none, -, ?, .) are texts there.
bool is_missing_text(std::string_view text) noexcept;

// This is the reader's fast path. Parses a number at `begin` and returns its end, or null unless it is a
// plain finite number that is nonzero or literally zero (parse_number then classifies the text).
const char* parse_plain_number(const char* begin, const char* end, char decimal, double& value) noexcept;

std::string_view trim_blanks(std::string_view text) noexcept;

// Returns the shortest decimal text that reads back to the same bits.
std::string shortest(double value);

}  // namespace nlsq::cli
