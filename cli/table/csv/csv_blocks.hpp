// The input after its first lines, cut into blocks that can be looked at apart from each other.
#pragma once

#include "table/csv/csv_text.hpp"
#include "table/source/byte_source.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace nlsq::cli {

// What stands behind the text of a block.
enum class BlockEnd {
  cut,       // more text, and this block ends with a line ending: most likely a record's
  input,     // nothing
  fault,     // the source could not go on
  bad_byte,  // a byte that is not UTF-8, or NUL
  too_long   // more text, but this block has no line ending within the longest line
};

// Memory for characters that is not cleared first. Holds `size` of them and kPadding more.
class TextBuffer {
 public:
  char* data() { return bytes_.get(); }
  const char* data() const { return bytes_.get(); }
  std::size_t size() const { return size_; }
  void clear() { size_ = 0; }
  void append(const char* from, std::size_t count);
  void erase_front(std::size_t count);
  // Room for `count` more behind data() + size().
  char* grow(std::size_t count);
  void added(std::size_t count) { size_ += count; }
  void shorten(std::size_t size) { size_ = size; }
  // A NUL behind the text, and nothing undefined behind that.
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

// Makes blocks, one after the other. How the source hands out its bytes makes no difference.
class BlockSource {
 public:
  BlockSource(RestOfInput rest, std::size_t block_size, std::size_t max_line);
  // Fills `block`; false when the block before was the last. Throws Interrupted.
  bool next(Block& block);

 private:
  std::size_t take(char* out, std::size_t size);
  void give_back(std::string_view bytes);

  RestOfInput rest_;
  std::size_t taken_ = 0;  // of rest_.bytes
  std::size_t block_size_, max_line_;
  bool done_ = false;
};

// Ends the text of `block` where it stops being UTF-8, and puts its end mark. Blocks may be checked in any
// order.
void check_block(Block& block);

}  // namespace nlsq::cli
