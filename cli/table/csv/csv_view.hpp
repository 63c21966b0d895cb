// Declares a piece of valid UTF-8 text without NUL, and functions that report errors with line and column.
// All CSV parsing uses it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nlsq::cli {

// Readable bytes after the end mark of every text, so that numbers can be loaded in words.
inline constexpr std::size_t kPadding = 32;

struct CsvView {
  const char* first = nullptr;
  const char* last = nullptr;         // *last == '\0', the only NUL
  bool complete = true;               // nothing follows end()
  bool line_feed_may_follow = false;  // a CR just before end() may be half of a CRLF
  std::size_t first_line = 1;         // number of the line at begin()
  std::size_t max_line = std::string::npos;
  std::string_view name;  // of the input, for messages

  const char* begin() const { return first; }
  const char* end() const { return last; }
  bool at_end() const { return complete; }
  // Returns true if `p` is a CR that may be half of a CRLF.
  bool is_half_an_ending(const char* p) const { return *p == '\r' && p + 1 == last && line_feed_may_follow; }

  struct Place {
    std::size_t line, column;  // the column counts characters from 1
  };
  Place place(const char* at) const;
  // Throws BadData: `name:line:column: message`. The column counts characters from 1.
  [[noreturn]] void fail(const char* at, const std::string& message) const;
  // Throws BadData if a line or record from `start` to `stop` is too long.
  void check_length(const char* start, const char* stop) const {
    if (!is_short(start, stop)) fail_length(start);
  }
  bool is_short(const char* start, const char* stop) const {
    return static_cast<std::size_t>(stop - start) <= max_line;
  }
  [[noreturn]] void fail_length(const char* start) const;
  [[noreturn]] void fail_open_quote(const char* quote) const;
  // Reports invalid input at end(). `bad` is the byte that is not UTF-8.
  [[noreturn]] void fail_invalid_byte(char bad, bool utf16) const;
};

}  // namespace nlsq::cli
