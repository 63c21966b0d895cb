// Declares the beginning of the input in contiguous memory, long enough to detect the format of the table.
// CsvReader uses it. The amount depends on the content only, not on how the bytes arrive.
#pragma once

#include "table/csv/csv_view.hpp"
#include "table/source/byte_source.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace nlsq::cli {

// Input that was read but not parsed, and the source of the rest.
struct RestOfInput {
  std::string bytes;  // not validated
  ByteSource* source = nullptr;
  std::string fault;  // the error of the source after `bytes`; empty: it has more, or has ended
  bool ended = false;
};

class CsvText {
 public:
  CsvText(OpenedSource source, std::size_t max_line);
  CsvText(const CsvText&) = delete;
  CsvText& operator=(const CsvText&) = delete;

  // Returns the text in memory from the first unconsumed byte. It is valid until more() or consume().
  const CsvView& view() const { return view_; }
  const char* begin() const { return view_.first; }
  const char* end() const { return view_.last; }
  bool at_end() const { return view_.complete; }
  std::size_t line() const { return view_.first_line; }

  // Marks everything before `p` as processed. `p` must be at the start of line `line`.
  void consume(const char* p, std::size_t line);

  // Reads a fixed amount of further bytes after end(). `open_quote` is the position of an open quote, for the
  // message if the text from begin() exceeds the longest line. Throws BadData for that, for invalid UTF-8,
  // and for errors of the source.
  void more(const char* open_quote = nullptr);

  const OpenedSource& source() const { return source_; }

  // Returns the input after begin(). The object must not be read afterwards.
  RestOfInput rest();

 private:
  void look();

  OpenedSource source_;
  std::vector<char> buffer_;
  std::size_t filled_ = 0;  // bytes in memory, including those after a bad byte
  std::size_t step_;        // bytes to read next
  char bad_ = '\0';         // the byte that the end mark replaces, if the text is invalid there
  bool is_bad_ = false, ended_ = false;
  std::string fault_;
  CsvView view_;
};

}  // namespace nlsq::cli
