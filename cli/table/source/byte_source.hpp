// Where input bytes come from: a file, standard input, or a string; through gzip and UTF-16 where the
// first bytes say so. What comes out is meant to be UTF-8; nothing here checks it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace nlsq::cli {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills up to `size` bytes; 0 only at the end. Throws BadData when the bytes cannot be had.
  virtual std::size_t read(char* out, std::size_t size) = 0;
  // The descriptor of a regular file of which these are the bytes from its start on; -1 where there is none.
  virtual int file() const { return -1; }
};

struct OpenedSource {
  std::unique_ptr<ByteSource> bytes;
  std::string name;           // as messages show it: the path, or "<stdin>"
  std::size_t size_hint = 0;  // bytes to come, 0 when unknown
  bool gzip = false;
  bool npy = false;                // an array of NumPy's, no text
  std::string encoding = "UTF-8";  // or "UTF-8 with byte order mark", "UTF-16LE", "UTF-16BE"
};

// `path` is a file, or "-" for standard input.
OpenedSource open_source(const std::string& path);

// The same over bytes in memory: for tests and fuzzing.
OpenedSource open_memory(std::string bytes, std::string name = "<memory>");

}  // namespace nlsq::cli
