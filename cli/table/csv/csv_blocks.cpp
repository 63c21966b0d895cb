// Implements BlockSource and TextBuffer: cuts the input into blocks at line endings and checks UTF-8.
#include "table/csv/csv_blocks.hpp"

#include "errors.hpp"
#include "table/csv/csv_view.hpp"
#include "table/source/utf8.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace nlsq::cli {

namespace {

// Returns the length of `text` through its last line ending, or 0 without one. A CR at the very end does not
// count, because it may be half of a CRLF.
std::size_t through_last_line(std::string_view text) {
  std::size_t last = text.rfind('\n');
  if (last == std::string_view::npos && text.size() > 1) last = text.substr(0, text.size() - 1).rfind('\r');
  return last == std::string_view::npos ? 0 : last + 1;
}

}  // namespace

char* TextBuffer::grow(std::size_t count) {
  if (bytes_ == nullptr || size_ + count > capacity_) {
    const std::size_t capacity = std::max(size_ + count, 2 * capacity_);
    auto bytes = std::make_unique_for_overwrite<char[]>(capacity + kPadding);
    if (size_ > 0) std::memcpy(bytes.get(), bytes_.get(), size_);
    bytes_ = std::move(bytes);
    capacity_ = capacity;
  }
  return bytes_.get() + size_;
}

void TextBuffer::append(const char* from, std::size_t count) {
  if (count == 0) return;
  std::memcpy(grow(count), from, count);
  size_ += count;
}

void TextBuffer::erase_front(std::size_t count) {
  if (count == 0) return;
  size_ -= count;
  std::memmove(bytes_.get(), bytes_.get() + count, size_);
}

void TextBuffer::mark_end() { std::memset(grow(0), 0, kPadding); }

BlockSource::BlockSource(RestOfInput rest, std::size_t block_size, std::size_t max_line)
    : rest_(std::move(rest)), block_size_(block_size), max_line_(max_line) {}

// Returns bytes that were already read first. Returns 0 at the end.
std::size_t BlockSource::take(char* out, std::size_t size) {
  if (taken_ < rest_.bytes.size()) {
    const std::size_t n = std::min(size, rest_.bytes.size() - taken_);
    std::memcpy(out, rest_.bytes.data() + taken_, n);
    taken_ += n;
    return n;
  }
  if (rest_.ended || !rest_.fault.empty()) return 0;
  try {
    const std::size_t n = rest_.source->read(out, size);
    rest_.ended = n == 0;
    return n;
  } catch (const BadData& e) {
    rest_.fault = e.what();
    return 0;
  }
}

void BlockSource::give_back(std::string_view bytes) {
  rest_.bytes.replace(0, taken_, bytes);
  taken_ = 0;
}

bool BlockSource::next(Block& block) {
  if (done_) return false;
  TextBuffer& text = block.text;
  text.clear();
  for (std::size_t wanted = block_size_;; wanted *= 2) {
    std::size_t got = 1;
    while (got != 0 && text.size() < wanted) {
      got = take(text.grow(wanted - text.size()), wanted - text.size());
      text.added(got);
    }
    const std::size_t whole = through_last_line({text.data(), text.size()});
    if (got == 0) {
      block.end = rest_.ended ? BlockEnd::input : BlockEnd::fault;
      block.fault = rest_.fault;
      done_ = true;
    } else if (whole > 0) {
      block.end = BlockEnd::cut;
      give_back({text.data() + whole, text.size() - whole});
      text.shorten(whole);
    } else if (text.size() > max_line_) {
      block.end = BlockEnd::too_long;
      done_ = true;
    } else {
      continue;
    }
    return true;
  }
}

void check_block(Block& block) {
  TextBuffer& text = block.text;
  const std::string_view all{text.data(), text.size()};
  const std::size_t valid = valid_utf8_prefix(all);
  if (valid < all.size()) {
    const std::string_view rest = all.substr(valid);
    const bool cut_short = block.end == BlockEnd::too_long || block.end == BlockEnd::fault;
    if (!cut_short || unfinished_utf8_suffix(rest) != rest.size()) {
      block.end = BlockEnd::bad_byte;
      block.bad = rest[0];
    }
    text.shorten(valid);
  }
  text.mark_end();
}

}  // namespace nlsq::cli
