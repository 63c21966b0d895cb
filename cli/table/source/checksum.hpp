// Computes the CRC-32 of the bytes of an input, as gzip, zlib and Python's zlib.crc32 compute it. --json
// reports it, so that a reader can tell later which version of a file was fitted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace nlsq::cli {

// Continues the checksum `crc` (0 at first) with these bytes. It takes little time beside the parsing of
// text.
std::uint32_t crc32_of(std::uint32_t crc, const char* bytes, std::size_t size);

// Computes the checksum of one input. The source adds the bytes that it reads. finish() reads what the table
// did not, because it looked at the file in memory or needed only some of it.
class InputChecksum {
 public:
  // `fd` is the descriptor of the input if it is a regular file, otherwise -1. A table reads other inputs to
  // their end.
  explicit InputChecksum(int fd);
  InputChecksum(const InputChecksum&) = delete;
  InputChecksum& operator=(const InputChecksum&) = delete;
  ~InputChecksum();

  void add(const char* bytes, std::size_t size) { crc_ = crc32_of(crc_, bytes, size); }
  // Returns "crc32:89abcdef". A second call returns the same.
  std::string finish();

 private:
  int rest_;  // a descriptor with the same position; -1: none
  std::uint32_t crc_ = 0;
};

}  // namespace nlsq::cli
