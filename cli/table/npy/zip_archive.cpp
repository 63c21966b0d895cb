// Implements the reader of zip archives with zlib.
#include "table/npy/zip_archive.hpp"

#include "errors.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <optional>

namespace nlsq::cli {

namespace {

constexpr std::string_view kLocal = "PK\x03\x04", kEntry = "PK\x01\x02", kEnd = "PK\x05\x06",
                           kEnd64 = "PK\x06\x06", kEnd64Locator = "PK\x06\x07";
constexpr std::uint64_t k32 = 0xFFFFFFFFu;
constexpr std::uint64_t k16 = 0xFFFFu;

[[noreturn]] void damaged(const std::string& what) {
  throw BadData("the zip archive is damaged (" + what + "); copy or download the file again");
}

// Returns `size` bytes at `at`.
std::string_view bytes_at(std::string_view text, std::uint64_t at, std::uint64_t size) {
  if (at > text.size() || size > text.size() - at) damaged("it ends too early");
  return text.substr(at, size);
}

// Returns a little-endian number of `size` bytes.
std::uint64_t number_at(std::string_view text, std::uint64_t at, std::size_t size) {
  const std::string_view bytes = bytes_at(text, at, size);
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

struct Directory {
  std::uint64_t entries = 0, offset = 0;
};

Directory find_directory(std::string_view archive) {
  constexpr std::size_t kEndSize = 22, kLongestComment = 65535;
  const std::size_t from = archive.size() - std::min(archive.size(), kEndSize + kLongestComment);
  const std::size_t end = archive.rfind(kEnd);
  if (end == std::string_view::npos || end < from) damaged("it has no directory at its end");
  bytes_at(archive, end, kEndSize);
  Directory directory{number_at(archive, end + 10, 2), number_at(archive, end + 16, 4)};
  if (directory.entries != k16 && directory.offset != k32) return directory;
  if (end < 20 || bytes_at(archive, end - 20, 4) != kEnd64Locator) return directory;
  const std::uint64_t end64 = number_at(archive, end - 20 + 8, 8);
  if (bytes_at(archive, end64, 4) != kEnd64) damaged("its zip64 directory is not where it should be");
  return {number_at(archive, end64 + 32, 8), number_at(archive, end64 + 48, 8)};
}

// Takes sizes that need more than 32 bits from the extra field.
void take_zip64(std::string_view extra, ZipMember& member) {
  for (std::uint64_t at = 0; at + 4 <= extra.size();) {
    const std::uint64_t id = number_at(extra, at, 2), size = number_at(extra, at + 2, 2);
    std::uint64_t field = at + 4;
    at = field + size;
    if (id != 1) continue;
    for (std::uint64_t* const value : {&member.size, &member.compressed, &member.header}) {
      if (*value != k32) continue;
      *value = number_at(extra, field, 8);
      field += 8;
    }
  }
}

// Returns the compressed or stored bytes of a member.
std::string_view raw_bytes(std::string_view archive, const ZipMember& member) {
  if (bytes_at(archive, member.header, 4) != kLocal) damaged("a member is not where its directory says");
  const std::uint64_t name = number_at(archive, member.header + 26, 2),
                      extra = number_at(archive, member.header + 28, 2);
  return bytes_at(archive, member.header + 30 + name + extra, member.compressed);
}

// Counts bytes and their checksum, and compares them at the end.
class CheckedMember {
 public:
  explicit CheckedMember(const ZipMember& member) : member_(member) {}
  void add(const char* bytes, std::size_t size) {
    crc_ = crc32_z(crc_, reinterpret_cast<const Bytef*>(bytes), size);
    size_ += size;
  }
  void finish() const {
    if (size_ != member_.size || static_cast<std::uint32_t>(crc_) != member_.crc)
      damaged(fmt::format("{} has another {} than its directory says", printable(member_.name),
                          size_ != member_.size ? "size" : "checksum"));
  }

 private:
  ZipMember member_;
  uLong crc_ = 0;
  std::uint64_t size_ = 0;
};

class StoredSource final : public ByteSource {
 public:
  StoredSource(std::string_view bytes, const ZipMember& member) : bytes_(bytes), checked_(member) {}
  std::size_t read(char* out, std::size_t size) override {
    const std::size_t n = std::min(size, bytes_.size());
    if (n == 0) {
      if (size > 0) checked_.finish();
      return 0;
    }
    std::memcpy(out, bytes_.data(), n);
    bytes_.remove_prefix(n);
    checked_.add(out, n);
    return n;
  }

 private:
  std::string_view bytes_;
  CheckedMember checked_;
};

class DeflatedSource final : public ByteSource {
 public:
  DeflatedSource(std::string_view bytes, const ZipMember& member) : bytes_(bytes), checked_(member) {
    if (inflateInit2(&stream_, -15) != Z_OK) throw std::bad_alloc();  // -15: without a header of its own
  }
  DeflatedSource(const DeflatedSource&) = delete;
  DeflatedSource& operator=(const DeflatedSource&) = delete;
  ~DeflatedSource() override { inflateEnd(&stream_); }

  std::size_t read(char* out, std::size_t size) override {
    constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
    const std::size_t room = std::min(size, kMost);
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(room);
    while (!ended_ && stream_.avail_out == room && room > 0) {
      if (stream_.avail_in == 0) {
        const std::size_t n = std::min(bytes_.size(), kMost);
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes_.data()));
        stream_.avail_in = static_cast<uInt>(n);
        bytes_.remove_prefix(n);
      }
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_MEM_ERROR) throw std::bad_alloc();
      ended_ = status == Z_STREAM_END;
      if (!ended_ && status != Z_OK)
        damaged(stream_.msg != nullptr ? stream_.msg : "a compressed member ends too early");
    }
    const std::size_t got = room - stream_.avail_out;
    checked_.add(out, got);
    if (got == 0 && room > 0) checked_.finish();
    return got;
  }

 private:
  std::string_view bytes_;
  CheckedMember checked_;
  z_stream stream_ = {};
  bool ended_ = false;
};

}  // namespace

std::vector<ZipMember> zip_members(std::string_view archive) {
  const Directory directory = find_directory(archive);
  std::vector<ZipMember> members;
  std::uint64_t at = directory.offset;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    if (bytes_at(archive, at, 4) != kEntry) damaged("its directory is cut short");
    ZipMember member;
    member.encrypted = (number_at(archive, at + 8, 2) & 1) != 0;
    member.method = static_cast<std::uint16_t>(number_at(archive, at + 10, 2));
    member.crc = static_cast<std::uint32_t>(number_at(archive, at + 16, 4));
    member.compressed = number_at(archive, at + 20, 4);
    member.size = number_at(archive, at + 24, 4);
    const std::uint64_t name = number_at(archive, at + 28, 2), extra = number_at(archive, at + 30, 2),
                        comment = number_at(archive, at + 32, 2);
    member.header = number_at(archive, at + 42, 4);
    member.name = bytes_at(archive, at + 46, name);
    take_zip64(bytes_at(archive, at + 46 + name, extra), member);
    members.push_back(std::move(member));
    at += 46 + name + extra + comment;
  }
  return members;
}

std::unique_ptr<ByteSource> open_member(std::string_view archive, const ZipMember& member) {
  if (member.encrypted)
    throw BadData(fmt::format("{} is encrypted: save the arrays with numpy.savez", printable(member.name)));
  const std::string_view bytes = raw_bytes(archive, member);
  if (member.method == 0) return std::make_unique<StoredSource>(bytes, member);
  if (member.method == 8) return std::make_unique<DeflatedSource>(bytes, member);
  throw BadData(
      fmt::format("{} is compressed by method {}, which is not known here: save the arrays with "
                  "numpy.savez or numpy.savez_compressed",
                  printable(member.name), member.method));
}

}  // namespace nlsq::cli
