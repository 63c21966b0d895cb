// Opens input files and standard input, and adds decoders for gzip and UTF-16.
#include "table/source/byte_source.hpp"

#include "errors.hpp"
#include "interrupt.hpp"
#include "progress.hpp"
#include "table/source/gzip_source.hpp"
#include "table/source/utf16_source.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace nlsq::cli {

namespace {

class FileSource final : public ByteSource {
 public:
  FileSource(int fd, bool regular, std::shared_ptr<InputChecksum> checksum)
      : fd_(fd), regular_(regular), checksum_(std::move(checksum)) {}
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  ~FileSource() override {
    if (fd_ != STDIN_FILENO) ::close(fd_);
  }
  std::size_t read(char* out, std::size_t size) override {
    for (;;) {
      if (interrupted()) throw Interrupted();
      if (!ready()) continue;
      const ssize_t n = ::read(fd_, out, size);
      if (n > 0 && checksum_) checksum_->add(out, static_cast<std::size_t>(n));
      if (n > 0) progress_done(static_cast<std::uint64_t>(n));
      if (n >= 0) return static_cast<std::size_t>(n);
      if (errno != EINTR) throw BadData(std::string("cannot read: ") + std::strerror(errno));
    }
  }
  // Standard input may be at any position in its file.
  int file() const override { return regular_ && fd_ != STDIN_FILENO ? fd_ : -1; }

 private:
  // Another thread may receive Ctrl-C, so waits for a pipe are short.
  bool ready() const {
    if (regular_) return true;
    constexpr int kMilliseconds = 100;
    pollfd waiting = {fd_, POLLIN, 0};
    const int events = ::poll(&waiting, 1, kMilliseconds);
    return events > 0 || (events < 0 && errno != EINTR);  // read() reports other errors
  }

  int fd_;
  bool regular_;
  std::shared_ptr<InputChecksum> checksum_;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string bytes) : bytes_(std::move(bytes)) {}
  std::size_t read(char* out, std::size_t size) override {
    const std::size_t n = std::min(size, bytes_.size() - at_);
    std::memcpy(out, bytes_.data() + at_, n);
    at_ += n;
    return n;
  }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

// Returns the bytes that were read ahead to detect the format, then the rest.
class PeekedSource final : public ByteSource {
 public:
  PeekedSource(std::unique_ptr<ByteSource> inner, std::string head)
      : inner_(std::move(inner)), head_(std::move(head)) {}
  std::size_t read(char* out, std::size_t size) override {
    if (at_ == head_.size()) return inner_->read(out, size);
    const std::size_t n = std::min(size, head_.size() - at_);
    std::memcpy(out, head_.data() + at_, n);
    at_ += n;
    return n;
  }
  int file() const override { return inner_->file(); }

 private:
  std::unique_ptr<ByteSource> inner_;
  std::string head_;
  std::size_t at_ = 0;
};

std::string peek(ByteSource& source, std::size_t size) {
  std::string head(size, '\0');
  std::size_t have = 0;
  while (have < size) {
    const std::size_t n = source.read(head.data() + have, size - have);
    if (n == 0) break;
    have += n;
  }
  head.resize(have);
  return head;
}

void refuse_foreign_formats(std::string_view head) {
  using namespace std::string_view_literals;
  constexpr std::pair<std::string_view, const char*> kKnown[] = {
      {"BZh"sv, "bzip2-compressed: decompress it first (bzip2 -dc FILE | nlsq-fit - ...)"},
      {"\xFD"
       "7zXZ"sv,
       "xz-compressed: decompress it first (xz -dc FILE | nlsq-fit - ...)"},
      {"\x28\xB5\x2F\xFD"sv, "zstd-compressed: decompress it first (zstd -dc FILE | nlsq-fit - ...)"},
      {"\x89HDF"sv, "an HDF5 file: export its columns as CSV first"},
      {"SQLite format 3"sv, "an SQLite database: export its columns as CSV first"}};
  for (const auto& [magic, what] : kKnown) {
    if (head.starts_with(magic)) throw BadData(std::string("this is ") + what);
  }
}

// Adds the decoders that the first bytes require: gzip, then a byte order mark.
void unwrap(OpenedSource& source) {
  using namespace std::string_view_literals;
  std::string head = peek(*source.bytes, 16);
  refuse_foreign_formats(head);
  constexpr std::string_view kNpy = "\x93NUMPY"sv;
  source.npy = head.starts_with(kNpy);
  source.npz = head.starts_with("PK\x03\x04"sv);
  source.gzip = head.starts_with("\x1F\x8B"sv);
  source.bytes = std::make_unique<PeekedSource>(std::move(source.bytes), std::move(head));
  if (source.gzip) {
    source.bytes = make_gzip_source(std::move(source.bytes));
    source.size_hint *= 3;  // text typically shrinks to a third; only a hint for memory
  }
  if (source.npy || source.npz) return;
  head = peek(*source.bytes, kNpy.size());
  source.npy = head == kNpy;
  if (head.starts_with("\xEF\xBB\xBF"sv)) {
    source.encoding = "UTF-8 with byte order mark";
    head.erase(0, 3);
    source.bytes = std::make_unique<PeekedSource>(std::move(source.bytes), std::move(head));
    return;
  }
  const bool little = head.starts_with("\xFF\xFE"sv), big = head.starts_with("\xFE\xFF"sv);
  if (little || big) head.erase(0, 2);
  source.bytes = std::make_unique<PeekedSource>(std::move(source.bytes), std::move(head));
  if (little || big) {
    source.encoding = little ? "UTF-16LE" : "UTF-16BE";
    source.bytes = make_utf16_source(std::move(source.bytes), big);
  }
}

void unwrap_naming_errors(OpenedSource& source) {
  try {
    unwrap(source);
  } catch (const BadData& e) {
    throw BadData(source.name + ": " + e.what());
  }
}

}  // namespace

bool file_exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

OpenedSource open_source(const std::string& path, bool with_checksum) {
  OpenedSource source;
  int fd = STDIN_FILENO;
  if (path == "-") {
    source.name = "<stdin>";
  } else {
    source.name = path;
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw BadData(path + ": cannot open: " + std::strerror(errno));
  }
  struct stat info = {};
  const bool known = ::fstat(fd, &info) == 0, regular = known && S_ISREG(info.st_mode);
  if (with_checksum) source.checksum = std::make_shared<InputChecksum>(regular ? fd : -1);
  source.bytes = std::make_unique<FileSource>(fd, regular, source.checksum);
  if (known && S_ISDIR(info.st_mode)) throw BadData(path + ": is a directory, not a file");
  if (regular) source.size_hint = static_cast<std::size_t>(info.st_size);
  unwrap_naming_errors(source);
  return source;
}

OpenedSource open_memory(std::string bytes, std::string name) {
  OpenedSource source;
  source.name = std::move(name);
  source.size_hint = bytes.size();
  source.bytes = std::make_unique<MemorySource>(std::move(bytes));
  unwrap_naming_errors(source);
  return source;
}

}  // namespace nlsq::cli
