// Cuts the input after its first lines into blocks that are parsed independently. csv_pipeline.cpp uses it.
#pragma once

#include "table/csv/csv_text.hpp"
#include "table/source/byte_source.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace nlsq::cli {

// States what follows the text of a block.
enum class BlockEnd {
  cut,       // more text; this block ends with a line ending, most likely that of a record
  input,     // nothing
  fault,     // the source reported an error
  bad_byte,  // a byte that is not UTF-8, or NUL
  too_long   // more text, but no line ending within the longest line
};

// Owns an uninitialised character buffer with `size` characters and kPadding more bytes.
class TextBuffer {
 public:
  char* data() { return bytes_.get(); }
  const char* data() const { return bytes_.get(); }
  std::size_t size() const { return size_; }
  void clear() { size_ = 0; }
  void append(const char* from, std::size_t count);
  void erase_front(std::size_t count);
  // Reserves space for `count` more characters and returns its start.
  char* grow(std::size_t count);
  void added(std::size_t count) { size_ += count; }
  void shorten(std::size_t size) { size_ = size; }
  // Writes a NUL after the text and defines the padding after it.
  void mark_end();

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0, capacity_ = 0;
};

struct Block {
  TextBuffer text;
  BlockEnd end = BlockEnd::input;
  std::string fault;  // for BlockEnd::fault
  char bad = '\0';    // for BlockEnd::bad_byte
};

// Cuts the source into consecutive blocks. The result does not depend on the sizes in which the source
// delivers its bytes.
class BlockSource {
 public:
  BlockSource(RestOfInput rest, std::size_t block_size, std::size_t max_line);
  // Fills `block`. Returns false after the last block. Throws Interrupted.
  bool next(Block& block);

 private:
  std::size_t take(char* out, std::size_t size);
  void give_back(std::string_view bytes);

  RestOfInput rest_;
  std::size_t taken_ = 0;  // of rest_.bytes
  std::size_t block_size_, max_line_;
  bool done_ = false;
};

// Cuts the text of `block` at the first byte that is not UTF-8 and adds the end mark. Blocks may be checked
// in any order.
void check_block(Block& block);

}  // namespace nlsq::cli
