// Implements the search for comparisons with texts.
#include "table/text_comparison.hpp"

#include "errors.hpp"
#include "table/characters.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>

namespace nlsq::cli {

namespace {

bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         (c & 0x80) != 0;
}

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && is_blank(text[at])) ++at;
  return at;
}

// Returns the place behind the last character before `at` that is no blank.
std::size_t skip_blanks_back(std::string_view text, std::size_t at) {
  while (at > 0 && is_blank(text[at - 1])) --at;
  return at;
}

// Returns the quote that opens a text at or after `at`. Backquotes enclose column names.
std::size_t find_quote(std::string_view text, std::size_t at) {
  for (; at < text.size(); ++at) {
    if (text[at] == '"' || text[at] == '\'') return at;
    if (text[at] == '`') at = std::min(text.find('`', at + 1), text.size());
  }
  return std::string_view::npos;
}

bool is_comparison(std::string_view sign) { return sign == "==" || sign == "!="; }

// Returns the reference that ends before `end`. It is empty if there is none.
std::string_view reference_before(std::string_view text, std::size_t end) {
  std::size_t begin = end;
  if (end > 0 && text[end - 1] == '`') {
    begin = text.rfind('`', end - 2);
    return begin == std::string_view::npos || end < 2 ? std::string_view() : text.substr(begin, end - begin);
  }
  while (begin > 0 && is_name_byte(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

// Returns the reference that begins at `begin`.
std::string_view reference_at(std::string_view text, std::size_t begin) {
  std::size_t end = begin;
  if (begin < text.size() && text[begin] == '`') {
    end = text.find('`', begin + 1);
    return end == std::string_view::npos ? std::string_view() : text.substr(begin, end + 1 - begin);
  }
  while (end < text.size() && is_name_byte(text[end])) ++end;
  return text.substr(begin, end - begin);
}

}  // namespace

std::optional<TextComparison> find_text_comparison(std::string_view expression, std::size_t at,
                                                   const std::string& option) {
  const std::size_t open = find_quote(expression, at);
  if (open == std::string_view::npos) return std::nullopt;
  const std::size_t close = expression.find(expression[open], open + 1);
  if (close == std::string_view::npos)
    throw UsageError(fmt::format("{}: a quote is not closed in {}", option, printable(expression, 200)));
  TextComparison found;
  found.text = expression.substr(open + 1, close - open - 1);
  const std::size_t sign_end = skip_blanks_back(expression, open);
  if (sign_end >= 2 && is_comparison(expression.substr(sign_end - 2, 2))) {  // column == "text"
    found.reference = reference_before(expression, skip_blanks_back(expression, sign_end - 2));
    found.negated = expression[sign_end - 2] == '!';
    if (!found.reference.empty())
      found.begin = skip_blanks_back(expression, sign_end - 2) - found.reference.size();
    found.length = close + 1 - found.begin;
  } else {  // "text" == column
    const std::size_t sign = skip_blanks(expression, close + 1);
    if (is_comparison(expression.substr(std::min(sign, expression.size()), 2))) {
      const std::size_t begin = skip_blanks(expression, sign + 2);
      found.reference = reference_at(expression, begin);
      found.negated = expression[sign] == '!';
      found.begin = open;
      found.length = begin + found.reference.size() - open;
    }
  }
  if (found.reference.empty()) {
    throw UsageError(fmt::format(
        "{}: the text '{}' must be compared with a column, as in site == \"{}\" or site != \"{}\"", option,
        printable(found.text), printable(found.text), printable(found.text)));
  }
  return found;
}

}  // namespace nlsq::cli
