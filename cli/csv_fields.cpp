#include "csv_fields.hpp"

#include "utf8.hpp"

#include <fmt/format.h>

namespace nlsq::cli {

FieldScanner::FieldScanner(const CsvText& text, char delimiter) : text_(&text), delimiter_(delimiter) {
  for (const char c : {'\n', '\r', '\0'}) stop_[static_cast<unsigned char>(c)] = 1;
  if (delimiter == kBlanks) {
    stop_[' '] = stop_['\t'] = 1;
  } else {
    stop_[static_cast<unsigned char>(delimiter)] = 1;
  }
}

After FieldScanner::finish(const char*& p, std::size_t& lines) const {
  const char* q = skip_blanks(p);
  if (*q == '\n' || *q == '\r') {
    if (*q == '\r' && q + 1 == text_->end() && !text_->at_end()) return After::need_more;
    p = q + (*q == '\r' && q[1] == '\n' ? 2 : 1);
    ++lines;
    return After::record_end;
  }
  if (q == text_->end()) {
    if (!text_->at_end()) return After::need_more;
    p = q;
    return After::record_end;
  }
  p = delimiter_ == kBlanks ? q : q + 1;
  return After::delimiter;
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
  const char* copied = q;  // the text before it is in scratch_
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

const char* skip_to_record(const CsvText& text, const char* p, const std::string& comment,
                           std::size_t& lines) {
  std::size_t passed = 0;
  for (;;) {
    const char* q = p;
    while (*q == ' ' || *q == '\t') ++q;
    const std::string_view rest{q, static_cast<std::size_t>(text.end() - q)};
    if (rest.size() <= comment.size() && !text.at_end()) return nullptr;
    if (!comment.empty() && rest.starts_with(comment)) {
      const std::size_t n = rest.find_first_of("\r\n");
      if (n == std::string_view::npos && !text.at_end()) return nullptr;
      q = n == std::string_view::npos ? text.end() : q + n;
    } else if (q != text.end() && *q != '\n' && *q != '\r') {
      lines += passed;
      return p;
    }
    if (q == text.end()) {  // only blanks or a comment before the end of the input
      lines += passed;
      return q;
    }
    if (*q == '\r' && q + 1 == text.end() && !text.at_end()) return nullptr;
    p = q + (*q == '\r' && q[1] == '\n' ? 2 : 1);
    ++passed;
  }
}

}  // namespace nlsq::cli
