// Implements the gzip decoder with zlib.
#include "table/source/gzip_source.hpp"

#include "errors.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace nlsq::cli {

namespace {

class GzipSource final : public ByteSource {
 public:
  explicit GzipSource(std::unique_ptr<ByteSource> compressed)
      : compressed_(std::move(compressed)), input_(1 << 17) {
    constexpr int kGzipOnly = 15 + 16;  // window bits, and "expect a gzip header" (zlib.h)
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;
  ~GzipSource() override { inflateEnd(&stream_); }

  std::size_t read(char* out, std::size_t size) override {
    const auto room = static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = room;
    while (stream_.avail_out == room) {
      if (damaged_) {
        throw BadData(std::string("the gzip data are damaged (") +
                      (stream_.msg ? stream_.msg : "unknown fault") + "); copy or download the file again");
      }
      if (!in_member_ && !next_member()) return 0;
      // The decoder may still produce output without more input.
      const bool fed = stream_.avail_in != 0 || refill();
      inflate_some();
      if (!fed && in_member_ && !damaged_ && stream_.avail_out == room) {
        throw BadData("the gzip data end too early: the file is truncated; copy or download it again");
      }
    }
    return room - stream_.avail_out;
  }

 private:
  bool refill() {
    const std::size_t n = compressed_->read(input_.data(), input_.size());
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(n);
    return n != 0;
  }

  // Skips zero padding after a member, as gzip does (tapes and block devices add it).
  bool next_member() {
    for (;;) {
      if (stream_.avail_in == 0 && !refill()) return false;
      if (*stream_.next_in != 0 || first_) break;
      ++stream_.next_in;
      --stream_.avail_in;
    }
    inflateReset(&stream_);
    first_ = false;
    in_member_ = true;
    return true;
  }

  void inflate_some() {
    const int status = inflate(&stream_, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {
      in_member_ = false;
    } else if (status == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      damaged_ = true;  // reported after the data before the damage
    }
  }

  std::unique_ptr<ByteSource> compressed_;
  std::vector<char> input_;
  z_stream stream_ = {};
  bool in_member_ = false, first_ = true, damaged_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> make_gzip_source(std::unique_ptr<ByteSource> compressed) {
  return std::make_unique<GzipSource>(std::move(compressed));
}

}  // namespace nlsq::cli
