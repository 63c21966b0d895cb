// Implements the search for comments within lines.
#include "table/csv/csv_comment.hpp"

namespace nlsq::cli {

namespace {

constexpr std::string_view kNotAvailable = "#N/A";

}  // namespace

bool begins_with_missing_value(std::string_view text) {
  return text.starts_with(kNotAvailable) && text.size() > kNotAvailable.size() &&
         std::string_view(",;\t|").find(text[kNotAvailable.size()]) != std::string_view::npos;
}

const char* find_inline_comment(const char* begin, const char* end, const std::string& comment) {
  if (comment.empty()) return nullptr;
  bool quoted = false;
  for (const char* p = begin; p != end; ++p) {
    if (*p == '"') quoted = !quoted;
    if (quoted) continue;
    if (*p == '\n' || *p == '\r') return nullptr;
    const bool after_blank = p != begin && (p[-1] == ' ' || p[-1] == '\t');
    if (*p != comment[0] || !after_blank) continue;
    const std::string_view rest{p, static_cast<std::size_t>(end - p)};
    if (!rest.starts_with(comment)) continue;
    const bool value =
        rest.starts_with(kNotAvailable) &&
        (rest.size() == kNotAvailable.size() ||
         std::string_view(" ,;\t|\r\n").find(rest[kNotAvailable.size()]) != std::string_view::npos);
    if (!value) return p;
  }
  return nullptr;
}

std::string_view without_comment(const char* begin, const char* comment, char delimiter) {
  std::string_view text{begin, static_cast<std::size_t>(comment - begin)};
  // If tabs delimit, one of them belongs to the comment; more stand for empty cells.
  bool tab_removed = false;
  while (!text.empty() &&
         (text.back() == ' ' || (text.back() == '\t' && !(delimiter == '\t' && tab_removed)))) {
    tab_removed = tab_removed || text.back() == '\t';
    text.remove_suffix(1);
  }
  return text;
}

}  // namespace nlsq::cli
