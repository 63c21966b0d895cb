// Implements FieldScanner: quoted and unquoted fields of a record.
#include "table/csv/csv_fields.hpp"

#include "table/csv/csv_comment.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>

namespace nlsq::cli {

FieldScanner::FieldScanner(const CsvView& text, char delimiter) : text_(&text), delimiter_(delimiter) {
  for (const char c : {'\n', '\r', '\0'}) stop_[static_cast<unsigned char>(c)] = 1;
  if (delimiter == kBlanks) {
    stop_[' '] = stop_['\t'] = 1;
  } else {
    stop_[static_cast<unsigned char>(delimiter)] = 1;
  }
}

After FieldScanner::scan(const char*& p, std::size_t& lines, Field& field) {
  const char* const start = skip_blanks(p);
  if (*start == '"') {
    const char* q = start;
    std::size_t new_lines = lines;
    const After after = scan_quoted(q, new_lines, field);
    if (after != After::need_more) p = q, lines = new_lines;
    return after;
  }
  const char* q = start;
  while (!stops(*q)) ++q;
  field = {start, trim_blanks({start, static_cast<std::size_t>(q - start)}), false};
  const After after = finish(q, lines);
  if (after != After::need_more) p = q;
  return after;
}

After FieldScanner::scan_quoted(const char*& p, std::size_t& lines, Field& field) {
  const char* const quote = p;
  const char* q = p + 1;
  bool rewritten = false;
  const char* copied = q;  // text before it is already in scratch_
  scratch_.clear();
  for (;; ++q) {
    if (*q == '"') {
      if (q[1] != '"') break;
      scratch_.append(copied, q + 1);
      rewritten = true;
      copied = ++q + 1;
    } else if (*q == '\n' || (*q == '\r' && q[1] != '\n')) {
      ++lines;
    } else if (q == text_->end()) {
      open_quote_ = quote;
      if (!text_->at_end()) return After::need_more;
      text_->fail(quote,
                  "unterminated quote: the input ends before the quote opened here is closed; close it, "
                  "or double it (\"\") where it is meant as a character");
    }
  }
  open_quote_ = nullptr;
  if (q + 1 == text_->end() && !text_->at_end())
    return After::need_more;  // the next byte may be a second quote
  if (rewritten) scratch_.append(copied, q);
  field = {quote,
           rewritten ? std::string_view(scratch_)
                     : std::string_view(quote + 1, static_cast<std::size_t>(q - quote - 1)),
           true};
  p = q + 1;
  const char* const after_blanks = skip_blanks(p);
  if (!stops(*after_blanks)) {
    if (delimiter_ != kBlanks || after_blanks == p) {
      const std::string_view rest{after_blanks, static_cast<std::size_t>(text_->end() - after_blanks)};
      text_->fail(
          after_blanks,
          fmt::format("'{}' after a closing quote; a quote inside a quoted field must be doubled (\"\")",
                      printable(rest.substr(0, rest.find_first_of("\r\n")), 20)));
    }
  }
  return finish(p, lines);
}

Next skip_to_record(const CsvView& text, const char*& p, const std::string& comment, std::size_t& lines) {
  for (;;) {
    const char* q = p;
    while (*q == ' ' || *q == '\t') ++q;
    const std::string_view rest{q, static_cast<std::size_t>(text.end() - q)};
    if (!comment.empty() && rest.starts_with(comment) && !begins_with_missing_value(rest)) {
      const std::size_t n = rest.find_first_of("\r\n");
      q = n == std::string_view::npos ? text.end() : q + n;
    } else if (!text.at_end() && std::string_view(comment).starts_with(rest)) {
      return Next::need_more;
    } else if (q != text.end() && *q != '\n' && *q != '\r') {
      return Next::record;
    }
    if (q == text.end()) {
      if (!text.at_end()) return Next::need_more;
      text.check_length(p, q);
      p = q;
      return Next::end;
    }
    if (text.is_half_an_ending(q)) return Next::need_more;
    q += *q == '\r' && q[1] == '\n' ? 2 : 1;
    text.check_length(p, q);
    p = q;
    ++lines;
  }
}

}  // namespace nlsq::cli
