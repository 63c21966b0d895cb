// The part of the input that is in memory: checked to be UTF-8 without NUL, and able to say where a
// byte stands. Text is kept from the start of the record being read; a NUL marks its end.
#pragma once

#include "byte_source.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nlsq::cli {

class CsvText {
 public:
  CsvText(OpenedSource source, std::size_t max_line);

  const char* begin() const { return buffer_.data() + begin_; }
  const char* end() const { return buffer_.data() + end_; }  // *end() == '\0', and nowhere before
  bool at_end() const { return finished_; }                  // nothing comes after end()
  std::size_t line() const { return line_; }                 // of begin(), from 1

  // Everything before `p` has been dealt with; `p` stands at the start of line `line`.
  void consume(const char* p, std::size_t line) {
    begin_ = static_cast<std::size_t>(p - buffer_.data());
    line_ = line;
  }

  // Reads more behind end(); false when there is no more. Pointers into the text become invalid.
  // `open_quote` says where a quote was opened that is still open, for the message when the text from
  // begin() grows beyond the longest line allowed. Throws BadData for what is not UTF-8, too.
  bool more(const char* open_quote = nullptr);

  // Checks a complete line or record against the limit.
  void check_length(const char* record_end) const;

  // Throws BadData: `name:line:column: message`. The column counts characters from 1.
  [[noreturn]] void fail(const char* at, const std::string& message) const;

  const OpenedSource& source() const { return source_; }

 private:
  void accept(std::size_t new_end);
  [[noreturn]] void fail_invalid_byte() const;

  OpenedSource source_;
  std::size_t max_line_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // valid text
  std::size_t filled_ = 0;           // bytes held, those not yet checked included
  std::size_t line_ = 1;
  unsigned char cut_ = 0;  // the byte that the mark at end_ covers
  std::string bad_;        // the offending bytes behind end_, once found
  bool finished_ = false;
};

}  // namespace nlsq::cli
