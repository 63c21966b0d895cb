// Implements parse_number(): the general parser with fast_float, thousands separators and missing values.
#include "table/numbers/number.hpp"

#include "table/characters.hpp"
#include "table/numbers/number_forms.hpp"

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace nlsq::cli {

namespace {

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool equals_ignoring_case(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != b[i]) return false;
  }
  return true;
}

// Returns true if the mantissa has a digit other than 0. A zero result is then an underflow.
bool mantissa_is_nonzero(std::string_view text) noexcept {
  for (const char c : text) {
    if (c == 'e' || c == 'E') return false;
    if (c >= '1' && c <= '9') return true;
  }
  return false;
}

}  // namespace

std::string_view trim_blanks(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

const char* parse_plain_number(const char* begin, const char* end, char decimal, double& value) noexcept {
  if (begin != end && *begin == '+') {
    if (++begin == end || *begin == '-' || *begin == '+') return nullptr;
  }
  const auto [ptr, ec] = fast_float::from_chars_advanced(
      begin, end, value, fast_float::parse_options{fast_float::general, decimal});
  if (ec != std::errc{} || !std::isfinite(value)) return nullptr;
  if (value == 0 && mantissa_is_nonzero({begin, static_cast<std::size_t>(ptr - begin)})) return nullptr;
  return ptr;
}

namespace {

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) noexcept {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return equals_ignoring_case(text, word); });
}

// Returns true if `text`, without surrounding blanks, is one of the words for a missing number.
bool is_missing(std::string_view text) noexcept {
  return is_missing_text(text) || is_one_of(text, {"+nan", "-nan", "none", "-", "?", "."});
}

// Parses `text` without typographic forms.
NumberStatus parse_plain(std::string_view text, const NumberFormat& format, double& value) noexcept {
  if (is_missing(text)) return NumberStatus::missing;
  NumberBuffer buffer;
  if (format.thousands != '\0' && text.find(format.thousands) != std::string_view::npos) {
    const auto joined = without_thousands(text, format, buffer);
    if (!joined) return NumberStatus::text;
    text = *joined;
  }
  const char* begin = text.data();
  const char* const end = begin + text.size();
  const char* const unsigned_begin = begin + (*begin == '+' || *begin == '-');
  const std::string_view magnitude{unsigned_begin, static_cast<std::size_t>(end - unsigned_begin)};
  if (equals_ignoring_case(magnitude, "inf") || equals_ignoring_case(magnitude, "infinity")) {
    value = *begin == '-' ? -HUGE_VAL : HUGE_VAL;
    return NumberStatus::infinite;
  }
  if (magnitude.size() > 2 && magnitude[0] == '0' && lower(magnitude[1]) == 'x') return NumberStatus::hex;
  if (magnitude.empty() || !(is_digit(magnitude[0]) || magnitude[0] == format.decimal))
    return NumberStatus::text;
  if (*begin == '+') ++begin;
  const auto [ptr, ec] = fast_float::from_chars_advanced(
      begin, end, value, fast_float::parse_options{fast_float::general, format.decimal});
  if (ec != std::errc{} || ptr != end) return NumberStatus::text;
  if (std::isinf(value)) return NumberStatus::overflow;
  if (value == 0 && mantissa_is_nonzero(magnitude)) return NumberStatus::underflow;
  return NumberStatus::ok;
}

}  // namespace

bool is_missing_text(std::string_view text) noexcept {
  return is_one_of(text, {"", "na", "n/a", "nan", "null", "#n/a"});
}

NumberStatus parse_number(std::string_view text, const NumberFormat& format, double& value) noexcept {
  text = trim_blanks(text);
  const NumberStatus status = parse_plain(text, format, value);
  if (status != NumberStatus::text) return status;
  NumberBuffer buffer;
  const auto plain = plain_form(text, format, buffer);
  return plain ? parse_plain(*plain, format, value) : NumberStatus::text;
}

std::string shortest(double value) { return fmt::format("{}", value); }

}  // namespace nlsq::cli
