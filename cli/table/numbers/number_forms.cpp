// Implements the rewriting of typographic numbers.
#include "table/numbers/number_forms.hpp"

#include "table/characters.hpp"

#include <algorithm>

namespace nlsq::cli {

namespace {

constexpr std::string_view kZeroWidth[] = {"\u200B", "\u200C", "\u200D", "\u2060", "\uFEFF"};
// These are the no-break space, figure space, thin space and narrow no-break space.
constexpr std::string_view kSpaces[] = {"\u00A0", "\u2007", "\u2009", "\u202F"};
constexpr std::string_view kMinus = "\u2212";
constexpr char kGroupMark = '\x01';  // stands for a typographic space between digits

template <std::size_t n>
std::size_t starts_with_any(std::string_view text, const std::string_view (&all)[n]) noexcept {
  for (const std::string_view one : all) {
    if (text.starts_with(one)) return one.size();
  }
  return 0;
}

// Returns the length of the typographic space at the end of `text`.
std::size_t space_at_end(std::string_view text) noexcept {
  for (std::size_t size = 2; size <= 3 && size <= text.size(); ++size) {
    if (typographic_space(text.substr(text.size() - size)) == size) return size;
  }
  return 0;
}

}  // namespace

std::size_t zero_width(std::string_view text) noexcept { return starts_with_any(text, kZeroWidth); }

std::size_t typographic_space(std::string_view text) noexcept {
  const std::size_t space = starts_with_any(text, kSpaces);
  return space != 0 ? space : zero_width(text);
}

std::string_view trim_spaces(std::string_view text) noexcept {
  for (;;) {
    text = trim_blanks(text);
    const std::size_t front = typographic_space(text);
    text.remove_prefix(front);
    const std::size_t back = space_at_end(text);
    text.remove_suffix(back);
    if (front + back == 0) return text;
  }
}

std::optional<std::string_view> without_thousands(std::string_view text, const NumberFormat& format,
                                                  NumberBuffer& buffer) noexcept {
  if (text.size() > buffer.size()) return std::nullopt;
  std::size_t n = 0, group = 0;
  bool grouped = false, in_integer = true;
  for (const char c : text) {
    if (c == format.thousands && in_integer) {
      if (group == 0 || group > 3 || (grouped && group != 3)) return std::nullopt;
      grouped = true;
      group = 0;
      continue;
    }
    if (is_digit(c)) {
      ++group;
    } else if (in_integer && n > 0) {  // a decimal sign or an exponent ends the integer part
      if (grouped && group != 3) return std::nullopt;
      in_integer = false;
    }
    buffer[n++] = c;
  }
  if (n == 0 || (grouped && in_integer && group != 3)) return std::nullopt;
  return std::string_view(buffer.data(), n);
}

std::optional<std::string_view> plain_form(std::string_view text, const NumberFormat& format,
                                           NumberBuffer& buffer) noexcept {
  const std::string_view given = text;
  text = trim_spaces(text);
  const bool percent = !text.empty() && text.back() == '%';
  if (percent) text = trim_spaces(text.substr(0, text.size() - 1));
  constexpr std::string_view kHundredth = "e-2";
  if (percent && (text.empty() || text.find_first_of("eE") != std::string_view::npos)) return std::nullopt;
  if (text.size() + kHundredth.size() > buffer.size()) return std::nullopt;
  NumberBuffer marked;
  std::size_t n = 0;
  bool grouped = false;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    if (const std::size_t space = typographic_space(rest)) {
      const bool between = i > 0 && is_digit(text[i - 1]) && rest.size() > space && is_digit(rest[space]);
      if (!between) return std::nullopt;
      marked[n++] = kGroupMark;
      grouped = true;
      i += space;
    } else if (i == 0 && rest.starts_with(kMinus)) {
      marked[n++] = '-';
      i += kMinus.size();
    } else {
      marked[n++] = text[i++];
    }
  }
  if (n == given.size()) return std::nullopt;  // nothing to rewrite
  std::string_view plain(marked.data(), n);
  if (grouped) {
    const auto joined = without_thousands(plain, {format.decimal, kGroupMark}, buffer);
    if (!joined) return std::nullopt;
    plain = *joined;
  } else {
    std::copy(plain.begin(), plain.end(), buffer.begin());
    plain = {buffer.data(), n};
  }
  if (!percent) return plain;
  std::copy(kHundredth.begin(), kHundredth.end(), buffer.data() + plain.size());
  return std::string_view(buffer.data(), plain.size() + kHundredth.size());
}

}  // namespace nlsq::cli
