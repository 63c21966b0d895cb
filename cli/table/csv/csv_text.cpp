// Implements CsvText: reads the first lines of the input and checks UTF-8.
#include "table/csv/csv_text.hpp"

#include "errors.hpp"
#include "table/source/utf8.hpp"

#include <cstring>
#include <utility>

namespace nlsq::cli {

namespace {

constexpr std::size_t kFirst = std::size_t{64} << 10;

}  // namespace

CsvText::CsvText(OpenedSource source, std::size_t max_line)
    : source_(std::move(source)), buffer_(kPadding), step_(kFirst) {
  view_.max_line = max_line;
  view_.name = source_.name;
  view_.complete = false;
  view_.line_feed_may_follow = true;
  view_.first = view_.last = buffer_.data();
}

void CsvText::consume(const char* p, std::size_t line) {
  view_.first = p;
  view_.first_line = line;
}

void CsvText::more(const char* open_quote) {
  if (static_cast<std::size_t>(end() - begin()) > view_.max_line) {
    if (open_quote != nullptr) view_.fail_open_quote(open_quote);
    view_.fail_length(begin());
  }
  if (is_bad_) view_.fail_invalid_byte(bad_, source_.encoding.starts_with("UTF-16"));
  if (!fault_.empty()) view_.fail(end(), fault_);
  if (ended_) return;
  // Restores the byte that the end mark replaced in an incomplete character.
  if (view_.last != buffer_.data() + filled_) *const_cast<char*>(view_.last) = bad_;
  const auto begin = static_cast<std::size_t>(view_.first - buffer_.data());
  filled_ -= begin;
  std::memmove(buffer_.data(), view_.first, filled_);
  buffer_.resize(filled_ + step_ + kPadding);
  const std::size_t wanted = filled_ + step_;
  try {
    while (filled_ < wanted) {
      const std::size_t got = source_.bytes->read(buffer_.data() + filled_, wanted - filled_);
      ended_ = got == 0;
      if (ended_) break;
      filled_ += got;
    }
  } catch (const BadData& e) {
    fault_ = e.what();
  }
  step_ = filled_;  // doubles the size
  look();
}

// Extends the valid text as far as possible. Errors are thrown only when a reader asks for more.
void CsvText::look() {
  char* const bytes = buffer_.data();
  const std::string_view text{bytes, filled_};
  const std::size_t valid = valid_utf8_prefix(text);
  is_bad_ = valid < filled_ && (ended_ || unfinished_utf8_suffix(text.substr(valid)) != filled_ - valid);
  bad_ = valid < filled_ ? bytes[valid] : '\0';
  bytes[valid] = '\0';
  view_.first = bytes;
  view_.last = bytes + valid;
  view_.complete = ended_ && !is_bad_;
  view_.line_feed_may_follow = !view_.complete;
}

RestOfInput CsvText::rest() {
  RestOfInput rest;
  if (end() != buffer_.data() + filled_) *const_cast<char*>(view_.last) = bad_;
  rest.bytes.assign(begin(), static_cast<std::size_t>(buffer_.data() + filled_ - begin()));
  rest.source = source_.bytes.get();
  rest.fault = fault_;
  rest.ended = ended_;
  return rest;
}

}  // namespace nlsq::cli
