// The beginning of the input: enough of it, in one piece, to see what kind of table this is. How much is
// held depends on what the input says, never on how it arrives.
#pragma once

#include "table/csv/csv_view.hpp"
#include "table/source/byte_source.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace nlsq::cli {

// What was read and not yet parsed, and what comes after it.
struct RestOfInput {
  std::string bytes;  // not checked
  ByteSource* source = nullptr;
  std::string fault;  // what the source said after `bytes`; empty: it has more, or has ended
  bool ended = false;
};

class CsvText {
 public:
  CsvText(OpenedSource source, std::size_t max_line);
  CsvText(const CsvText&) = delete;
  CsvText& operator=(const CsvText&) = delete;

  // What is in memory from the first byte that has not been consumed; valid until more() or consume().
  const CsvView& view() const { return view_; }
  const char* begin() const { return view_.first; }
  const char* end() const { return view_.last; }
  bool at_end() const { return view_.complete; }
  std::size_t line() const { return view_.first_line; }

  // Everything before `p` has been dealt with; `p` stands at the start of line `line`.
  void consume(const char* p, std::size_t line);

  // Reads a fixed amount more behind end(). `open_quote` says where a quote was opened that is still open,
  // for the message when the text from begin() is longer than the longest line allowed. Throws BadData for
  // that, for what is not UTF-8, and for what the source has to say.
  void more(const char* open_quote = nullptr);

  const OpenedSource& source() const { return source_; }

  // Hands over what follows begin(). Nothing may be read here any more.
  RestOfInput rest();

 private:
  void look();

  OpenedSource source_;
  std::vector<char> buffer_;
  std::size_t filled_ = 0;  // bytes held, those behind a bad byte included
  std::size_t step_;        // bytes to read next
  char bad_ = '\0';         // the byte that the mark at end() covers, if the text is bad there
  bool is_bad_ = false, ended_ = false;
  std::string fault_;
  CsvView view_;
};

}  // namespace nlsq::cli
