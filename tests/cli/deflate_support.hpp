// Compresses bytes with zlib, for tests that write gzip files and zip archives.
#pragma once

#include <zlib.h>

#include <string>

namespace deflate_support {

// Compresses bytes. `window_bits` selects the format, with the values of zlib's deflateInit2: -15 gives bare
// DEFLATE data, and 15 + 16 gives a gzip member.
inline std::string deflated(const std::string& bytes, int window_bits) {
  constexpr std::size_t kHeader = 64;  // this is more than the header of gzip
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()) + kHeader, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace deflate_support
