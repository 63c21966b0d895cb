#include "csv_text.hpp"

#include "errors.hpp"
#include "utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace nlsq::cli {

namespace {

constexpr std::size_t kBlock = std::size_t{256} << 10;

}  // namespace

CsvText::CsvText(OpenedSource source, std::size_t max_line)
    : source_(std::move(source)), max_line_(max_line), buffer_(2 * kBlock + 1) {
  buffer_[0] = '\0';
}

bool CsvText::more(const char* open_quote) {
  if (!bad_.empty()) fail_invalid_byte();
  if (finished_) return false;
  if (end_ - begin_ > max_line_) {
    if (open_quote != nullptr) {
      fail(open_quote,
           fmt::format("this quote is not closed within {} bytes; close it, or raise the limit with "
                       "--max-line if the field is meant to be that long",
                       max_line_));
    }
    check_length(end());
  }
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, filled_ - begin_);
    filled_ -= begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - 1 - filled_ < kBlock) buffer_.resize(2 * buffer_.size());
  // The mark at end_ may cover the first byte of a character cut in two: put it back.
  if (filled_ > end_) buffer_[end_] = static_cast<char>(cut_);
  std::size_t got = 0;
  try {
    got = source_.bytes->read(buffer_.data() + filled_, buffer_.size() - 1 - filled_);
  } catch (const BadData& e) {
    buffer_[end_] = '\0';  // what was read before the fault may have overwritten the mark
    fail(end(), e.what());
  }
  finished_ = got == 0;
  accept(filled_ + got);
  return got != 0 || !bad_.empty();
}

// Extends the valid text as far as it goes; what stops it, if anything, is remembered for the moment the
// reader gets there, so that earlier faults are reported first.
void CsvText::accept(std::size_t new_end) {
  const std::string_view fresh{buffer_.data() + end_, new_end - end_};
  const std::size_t valid = valid_utf8_prefix(fresh);
  const std::string_view rest = fresh.substr(valid);
  if (!rest.empty() && (finished_ || unfinished_utf8_suffix(rest) != rest.size())) {
    bad_ = rest.substr(0, 1);
    finished_ = false;  // the reader must ask for more, and hear of the bad byte
  }
  filled_ = new_end;
  end_ += valid;
  cut_ = static_cast<unsigned char>(end_ < filled_ ? buffer_[end_] : '\0');
  buffer_[end_] = '\0';
}

void CsvText::check_length(const char* record_end) const {
  if (static_cast<std::size_t>(record_end - begin()) > max_line_) {
    fail(begin(),
         fmt::format("this line is longer than {} bytes; is this a text file? --max-line raises the limit",
                     max_line_));
  }
}

void CsvText::fail(const char* at, const std::string& message) const {
  std::size_t line = line_;
  const char* line_begin = begin();
  for (const char* p = begin(); p < at; ++p) {
    const bool newline = *p == '\n' || (*p == '\r' && p[1] != '\n');
    if (newline) ++line, line_begin = p + 1;
  }
  const std::size_t column = 1 + count_code_points({line_begin, static_cast<std::size_t>(at - line_begin)});
  throw BadData(fmt::format("{}:{}:{}: {}", source_.name, line, column, message));
}

void CsvText::fail_invalid_byte() const {
  if (bad_[0] == '\0') {
    fail(end(),
         "NUL byte: this is not a text file, or UTF-16 without a byte order mark (convert it with iconv)");
  }
  const bool utf16 = source_.encoding.starts_with("UTF-16");
  fail(end(), fmt::format("invalid {} ({}); {}", utf16 ? "UTF-16" : "UTF-8",
                          utf16 ? "a lone surrogate or half a character" : "byte " + printable(bad_),
                          utf16 ? "the file is damaged or cut short"
                                : "convert the file, for example with iconv -f latin1 -t utf-8"));
}

}  // namespace nlsq::cli
