// Implements the division of files into parts.
#include "processes/file_parts.hpp"

#include "errors.hpp"
#include "interrupt.hpp"
#include "processes/processes.hpp"
#include "progress.hpp"
#include "table/source/checksum.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace nlsq::cli {

namespace {

constexpr std::uint64_t kWorthDividing = std::uint64_t{1} << 20;  // bytes

// Returns the part [numerator / denominator] of `all`, without overflow.
std::uint64_t share_of(std::uint64_t all, std::uint64_t numerator, std::uint64_t denominator) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(all) * numerator / denominator);
}

std::size_t read_at(int file, char* out, std::size_t size, std::uint64_t at) {
  for (;;) {
    const ssize_t n = ::pread(file, out, size, static_cast<off_t>(at));
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno != EINTR) throw BadData(std::string("cannot read: ") + std::strerror(errno));
  }
}

std::uint64_t size_of(int file) {
  struct stat info = {};
  if (::fstat(file, &info) != 0) throw BadData(std::string("cannot read: ") + std::strerror(errno));
  return static_cast<std::uint64_t>(info.st_size);
}

// Returns the first byte from `at` on that begins a line.
std::uint64_t line_start(int file, std::uint64_t at, std::uint64_t data, std::uint64_t size) {
  if (at <= data) return data;
  std::array<char, 1 << 16> block;
  for (std::uint64_t from = at - 1; from < size;) {
    const std::size_t n = read_at(file, block.data(), block.size(), from);
    if (n == 0) break;
    if (const void* const end = std::memchr(block.data(), '\n', n))
      return from + static_cast<std::uint64_t>(static_cast<const char*>(end) - block.data()) + 1;
    from += n;
  }
  return size;
}

// Holds the size and the checksum of both ends of a file. They are zero for what is no regular file.
struct FileMark {
  std::uint64_t size = 0, ends = 0;
  bool operator==(const FileMark&) const = default;
};

FileMark mark_of(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info = {};
  FileMark mark;
  if (file >= 0 && ::fstat(file, &info) == 0 && S_ISREG(info.st_mode)) {
    mark.size = static_cast<std::uint64_t>(info.st_size);
    std::array<char, 1 << 16> block;
    std::uint32_t crc = 0;
    for (const std::uint64_t at :
         {std::uint64_t{0}, mark.size - std::min<std::uint64_t>(mark.size, block.size())}) {
      const ssize_t n = ::pread(file, block.data(), block.size(), static_cast<off_t>(at));
      if (n > 0) crc = crc32_of(crc, block.data(), static_cast<std::size_t>(n));
    }
    mark.ends = crc;
  }
  if (file >= 0) ::close(file);
  return mark;
}

class PartSource final : public ByteSource {
 public:
  PartSource(int file, std::uint64_t begin, std::uint64_t end) : file_(file), at_(begin), end_(end) {}
  std::size_t read(char* out, std::size_t size) override {
    if (interrupted()) throw Interrupted();
    const std::size_t n = read_at(file_, out, std::min<std::uint64_t>(size, end_ - at_), at_);
    at_ += n;
    progress_done(n);
    return n;
  }

 private:
  int file_;  // of the opened source
  std::uint64_t at_, end_;
};

}  // namespace

std::optional<std::vector<FilePart>> own_parts(const std::vector<std::string>& files) {
  if (processes() == nullptr) return std::nullopt;
  std::vector<std::uint64_t> sizes;
  std::uint64_t all = 0;
  for (const std::string& file : files) {
    struct stat info = {};
    if (file == "-" || ::stat(file.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
    sizes.push_back(static_cast<std::uint64_t>(info.st_size));
    all += sizes.back();
  }
  const auto team = processes()->team();
  const auto rank = static_cast<std::uint64_t>(team->rank()), size = static_cast<std::uint64_t>(team->size());
  if (size < 2 || all < kWorthDividing * size) return std::nullopt;
  const std::uint64_t begin = share_of(all, rank, size), end = share_of(all, rank + 1, size);
  std::vector<FilePart> parts;
  std::uint64_t before = 0;
  for (const std::uint64_t of_file : sizes) {
    parts.push_back({std::clamp(begin, before, before + of_file) - before,
                     std::clamp(end, before, before + of_file) - before});
    before += of_file;
  }
  return parts;
}

void check_same_files(const std::vector<std::string>& files) {
  std::vector<FileMark> marks;
  for (const std::string& file : files) marks.push_back(mark_of(file));
  const std::size_t bytes = marks.size() * sizeof(FileMark);
  const std::vector<std::string> all =
      processes()->team()->gather({reinterpret_cast<const char*>(marks.data()), bytes});
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    for (std::size_t f = 0; f < files.size(); ++f) {
      const std::size_t at = f * sizeof(FileMark);
      if (all[rank].compare(at, sizeof(FileMark), all[0], at, sizeof(FileMark)) == 0) continue;
      throw BadData(
          fmt::format("{}: process {} sees another file of this name than the first one; all processes "
                      "need the same files, on a file system that they share",
                      files[f], rank));
    }
  }
}

std::unique_ptr<ByteSource> open_part(const OpenedSource& source, const FilePart& part, std::uint64_t data) {
  const int file = source.bytes->file();
  if (file < 0 || !source.encoding.starts_with("UTF-8"))
    throw BadData(source.name + ": cannot be read in parts");
  const std::uint64_t size = size_of(file);
  const std::uint64_t end = part.end >= size ? size : line_start(file, part.end, data, size);
  return std::make_unique<PartSource>(file, std::min(end, line_start(file, part.begin, data, size)), end);
}

RowPart rows_of_part(const OpenedSource& source, const FilePart& part, std::size_t rows) {
  const int file = source.bytes->file();
  if (file < 0) throw BadData(source.name + ": cannot be read in parts");
  const std::uint64_t size = std::max<std::uint64_t>(1, size_of(file));
  const auto row = [&](std::uint64_t byte) {
    return static_cast<std::size_t>(share_of(rows, std::min(byte, size), size));
  };
  return {row(part.begin), row(part.end)};
}

}  // namespace nlsq::cli
