// Implements the UTF-16 decoder.
#include "table/source/utf16_source.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace nlsq::cli {

namespace {

// Accepts any value below 0x110000. A surrogate gives three bytes that no UTF-8 reader accepts.
void append_utf8(std::string& out, std::uint32_t c) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6), put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
  }
}

class Utf16Source final : public ByteSource {
 public:
  Utf16Source(std::unique_ptr<ByteSource> inner, bool big_endian)
      : inner_(std::move(inner)), big_endian_(big_endian), input_(1 << 16) {}

  std::size_t read(char* out, std::size_t size) override {
    while (at_ == text_.size() && !done_) convert_some();
    const std::size_t n = std::min(size, text_.size() - at_);
    std::memcpy(out, text_.data() + at_, n);
    at_ += n;
    return n;
  }

 private:
  void convert_some() {
    text_.clear();
    at_ = 0;
    const std::size_t n = inner_->read(input_.data(), input_.size());
    for (std::size_t i = 0; i < n; ++i) take_byte(static_cast<unsigned char>(input_[i]));
    if (n == 0) {
      if (high_surrogate_ != 0) append_utf8(text_, high_surrogate_);
      if (half_) text_ += '\xFF';
      done_ = true;
    }
  }

  void take_byte(std::uint32_t byte) {
    if (!half_) {
      first_byte_ = byte;
      half_ = true;
      return;
    }
    half_ = false;
    take_unit(big_endian_ ? first_byte_ << 8 | byte : byte << 8 | first_byte_);
  }

  void take_unit(std::uint32_t unit) {
    const bool low = unit >= 0xDC00 && unit <= 0xDFFF;
    if (high_surrogate_ != 0) {
      const std::uint32_t high = std::exchange(high_surrogate_, 0);
      if (low) return append_utf8(text_, 0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00));
      append_utf8(text_, high);
    }
    if (unit >= 0xD800 && unit <= 0xDBFF) {
      high_surrogate_ = unit;
    } else {
      append_utf8(text_, unit);
    }
  }

  std::unique_ptr<ByteSource> inner_;
  bool big_endian_;
  std::vector<char> input_;
  std::string text_;
  std::size_t at_ = 0;
  std::uint32_t first_byte_ = 0, high_surrogate_ = 0;
  bool half_ = false, done_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> make_utf16_source(std::unique_ptr<ByteSource> utf16, bool big_endian) {
  return std::make_unique<Utf16Source>(std::move(utf16), big_endian);
}

}  // namespace nlsq::cli
