// Writes numbers to a string of bytes and reads them back, in the machine's own order. The exchange between
// processes and the journal use it.
#pragma once

#include <nlsq/error.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace nlsq::inline v0 {

class ByteWriter {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) { text_.append(reinterpret_cast<const char*>(&value), sizeof(T)); }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put_all(std::span<const T> values) {
    put(static_cast<std::uint64_t>(values.size()));
    text_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }
  void put_text(std::string_view text) { put_all(std::span<const char>(text)); }
  std::string& text() { return text_; }

 private:
  std::string text_;
};

// Reads bytes. Throws Error if there are too few.
class ByteReader {
 public:
  explicit ByteReader(std::string_view text) : text_(text) {}
  template <class T>
  requires std::is_trivially_copyable_v<T> T get() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  template <class T>
  std::vector<T> get_all() {
    const auto count = get<std::uint64_t>();
    if (count > text_.size() / sizeof(T)) fail();
    std::vector<T> values(static_cast<std::size_t>(count));
    const std::string_view bytes = take(values.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  std::string get_text() {
    const std::vector<char> text = get_all<char>();
    return {text.begin(), text.end()};
  }
  std::size_t left() const { return text_.size(); }

 private:
  [[noreturn]] static void fail() { throw Error("bytes from a file or another process end too early"); }
  std::string_view take(std::size_t size) {
    if (size > text_.size()) fail();
    const std::string_view out = text_.substr(0, size);
    text_.remove_prefix(size);
    return out;
  }
  std::string_view text_;
};

// Hash of bytes (FNV-1a, by words of 8), to distinguish requests and to detect damaged records.
class ByteHash {
 public:
  void add(std::string_view bytes) {
    for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
      std::uint64_t word;
      std::memcpy(&word, bytes.data(), 8);
      mix(word);
    }
    std::uint64_t rest = bytes.size();
    for (const char c : bytes) rest = rest << 8 | static_cast<unsigned char>(c);
    mix(rest);
  }
  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void add_value(T value) { add({reinterpret_cast<const char*>(&value), sizeof(T)}); }
  std::uint64_t value() const { return hash_; }

 private:
  void mix(std::uint64_t word) {
    hash_ = (hash_ ^ word) * 0x100000001b3U;
    hash_ ^= hash_ >> 29;  // so that high bits reach low ones
  }
  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

// Write the summary of a solve and read it back (summary_bytes.cpp).
struct Summary;
void put_summary(const Summary& summary, ByteWriter& out);
Summary take_summary(ByteReader& in);

}  // namespace nlsq::inline v0
