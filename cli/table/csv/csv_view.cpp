// Implements CsvView: error messages with line and column.
#include "table/csv/csv_view.hpp"

#include "errors.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>

namespace nlsq::cli {

CsvView::Place CsvView::place(const char* at) const {
  std::size_t line = first_line;
  const char* line_begin = first;
  for (const char* p = first; p < at; ++p) {
    const bool newline = *p == '\n' || (*p == '\r' && p[1] != '\n');
    if (newline) ++line, line_begin = p + 1;
  }
  return {line, 1 + count_code_points({line_begin, static_cast<std::size_t>(at - line_begin)})};
}

void CsvView::fail(const char* at, const std::string& message) const {
  const Place where = place(at);
  throw BadData(fmt::format("{}:{}:{}: {}", name, where.line, where.column, message));
}

void CsvView::fail_length(const char* start) const {
  fail(start,
       fmt::format("this line is longer than {} bytes; is this a text file? --max-line raises the limit",
                   max_line));
}

void CsvView::fail_open_quote(const char* quote) const {
  fail(quote, fmt::format("this quote is not closed within {} bytes; close it, or raise the limit with "
                          "--max-line if the field is meant to be that long",
                          max_line));
}

void CsvView::fail_invalid_byte(char bad, bool utf16) const {
  if (bad == '\0') {
    fail(last,
         "NUL byte: this is not a text file, or UTF-16 without a byte order mark (convert it with iconv)");
  }
  fail(last, fmt::format("invalid {} ({}); {}", utf16 ? "UTF-16" : "UTF-8",
                         utf16 ? "a lone surrogate or half a character" : "byte " + printable({&bad, 1}),
                         utf16 ? "the file is damaged or cut short"
                               : "convert the file, for example with iconv -f latin1 -t utf-8"));
}

}  // namespace nlsq::cli
