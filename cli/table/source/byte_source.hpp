// Declares sources of input bytes: a file, standard input, or a string. gzip and UTF-16 are detected from the
// first bytes and decoded. The output should be UTF-8, but is not checked here. The table readers use it.
#pragma once

#include "table/source/checksum.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace nlsq::cli {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Reads up to `size` bytes. Returns 0 only at the end. Throws BadData if reading fails.
  virtual std::size_t read(char* out, std::size_t size) = 0;
  // Returns the descriptor of a regular file with these bytes, from its start, or -1 if there is none.
  virtual int file() const { return -1; }
};

struct OpenedSource {
  std::unique_ptr<ByteSource> bytes;
  std::string name;           // for messages: the path, or "<stdin>"
  std::size_t size_hint = 0;  // remaining bytes; 0 if unknown
  bool gzip = false;
  bool npy = false;                         // a NumPy array, not text
  bool npz = false;                         // a zip archive, perhaps of NumPy arrays
  std::shared_ptr<InputChecksum> checksum;  // null if none is wanted
  std::string encoding = "UTF-8";           // or "UTF-8 with byte order mark", "UTF-16LE", "UTF-16BE"
};

// `path` is a file, or "-" for standard input.
OpenedSource open_source(const std::string& path, bool with_checksum = false);

// Opens bytes in memory in the same way, for tests and fuzzing.
OpenedSource open_memory(std::string bytes, std::string name = "<memory>");

// Returns whether a file of this name exists. Also returns false, and does not throw, if the text is too long
// for the name of a file, as a long formula is.
bool file_exists(const std::string& path);

}  // namespace nlsq::cli
