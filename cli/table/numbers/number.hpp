// Text to double, whatever the locale: the nearest double, denormals included.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nlsq::cli {

struct NumberFormat {
  char decimal = '.';
  char thousands = '\0';  // '\0': none; otherwise groups of exactly three digits before the decimal sign
};

enum class NumberStatus {
  ok,
  underflow,  // not zero as written, zero as a double: 1e-400
  overflow,   // 1e400
  infinite,   // inf, infinity
  hex,        // 0x1p3
  missing,    // empty, NA, N/A, NaN, null, none, -
  text        // anything else
};

// `text` without surrounding blanks. A leading + is accepted. Sets `value` for ok and underflow.
NumberStatus parse_number(std::string_view text, const NumberFormat& format, double& value) noexcept;

// The fast path of the reader: a number at `begin`; returns its end, or null when anything but a plain
// finite nonzero-or-literally-zero number stands there (parse_number then says what it is).
const char* parse_plain_number(const char* begin, const char* end, char decimal, double& value) noexcept;

std::string_view trim_blanks(std::string_view text) noexcept;

// Shortest decimal text that reads back to the same bits.
std::string shortest(double value);

}  // namespace nlsq::cli
