// Scans one field at a time by RFC 4180: quotes, doubled quotes, newlines inside quotes. RecordParser uses
// it.
#pragma once

#include "table/csv/csv_options.hpp"
#include "table/csv/csv_view.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace nlsq::cli {

struct Field {
  const char* begin = nullptr;  // first byte in the text (the quote, if any); messages point to it
  std::string_view text;        // content without quotes; doubled quotes become single
  bool quoted = false;
};

enum class After { delimiter, record_end, need_more };

class FieldScanner {
 public:
  FieldScanner(const CsvView& text, char delimiter);

  // Scans the field at `p` and moves `p` past it and its delimiter or line ending. Adds the physical lines to
  // `lines`. Returns need_more if the text ends inside the field. Then `p` and `lines` are unchanged, and
  // open_quote() gives an open quote. Throws BadData for an unterminated quote and for text after a closing
  // quote.
  After scan(const char*& p, std::size_t& lines, Field& field);

  // Classifies what follows a field's content at `p`, and moves past blanks and one delimiter or line ending.
  // Also returns need_more if a CR may be half of a CRLF. `p` must be just after a field's content.
  After finish(const char*& p, std::size_t& lines) const {
    const char* q = skip_blanks(p);
    if (*q == '\n' || *q == '\r') {
      if (text_->is_half_an_ending(q)) return After::need_more;
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

  // Returns true if the byte ends an unquoted field: delimiter, CR, LF, or the end mark.
  bool stops(char c) const { return stop_[static_cast<unsigned char>(c)] != 0; }
  // Skips blanks that are not delimiters (all blanks if runs of blanks are the delimiter).
  const char* skip_blanks(const char* p) const {
    while (*p == ' ' || (*p == '\t' && delimiter_ != '\t')) ++p;
    return p;
  }
  const char* open_quote() const { return open_quote_; }

 private:
  After scan_quoted(const char*& p, std::size_t& lines, Field& field);

  const CsvView* text_;
  char delimiter_;
  std::array<unsigned char, 256> stop_{};
  std::string scratch_;
  const char* open_quote_ = nullptr;
};

enum class Next { record, end, need_more };

// Moves `p` past blank lines and comment lines to the start of the next record, as far as it is known. Adds
// the skipped lines to `lines`. Returns need_more if the text ends before the line at `p` does. Throws
// BadData if one of these lines is too long.
Next skip_to_record(const CsvView& text, const char*& p, const std::string& comment, std::size_t& lines);

}  // namespace nlsq::cli
