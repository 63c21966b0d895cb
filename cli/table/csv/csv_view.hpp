// A stretch of text in memory, known to be UTF-8 without NUL, and able to say where a byte stands.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nlsq::cli {

// Readable bytes that every text has behind its end mark, so that numbers may be loaded words at a time.
inline constexpr std::size_t kPadding = 32;

struct CsvView {
  const char* first = nullptr;
  const char* last = nullptr;         // *last == '\0', and nowhere before
  bool complete = true;               // nothing comes after end()
  bool line_feed_may_follow = false;  // a CR just before end() may be half of a CRLF
  std::size_t first_line = 1;         // number of the line that begins at begin()
  std::size_t max_line = std::string::npos;
  std::string_view name;  // of the input, for messages

  const char* begin() const { return first; }
  const char* end() const { return last; }
  bool at_end() const { return complete; }
  // A CR at `p` whose line ending cannot be told yet.
  bool is_half_an_ending(const char* p) const { return *p == '\r' && p + 1 == last && line_feed_may_follow; }

  // Throws BadData: `name:line:column: message`. The column counts characters from 1.
  [[noreturn]] void fail(const char* at, const std::string& message) const;
  // Throws BadData when a line or record from `start` to `stop` is longer than allowed.
  void check_length(const char* start, const char* stop) const {
    if (static_cast<std::size_t>(stop - start) > max_line) fail_length(start);
  }
  [[noreturn]] void fail_length(const char* start) const;
  [[noreturn]] void fail_open_quote(const char* quote) const;
  // The input itself is at fault at end(): `bad` is the byte there that is not UTF-8.
  [[noreturn]] void fail_invalid_byte(char bad, bool utf16) const;
};

}  // namespace nlsq::cli
