// Implements OutputFile: writes a temporary file and renames it.
#include "report/output_file.hpp"

#include "errors.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace nlsq::cli {

namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 18;

// Returns the target of a symbolic link, so that the rename keeps the link.
std::string resolved(const std::string& path) {
  char* const real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return path;
  const std::string result = real;
  std::free(real);
  return result;
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

OutputFile::OutputFile(const std::string& path) : path_(path) {
  if (path == "-") {
    fd_ = STDOUT_FILENO;
    return;
  }
  struct stat info = {};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) {
    errno = EISDIR;
    fail("cannot write");
  }
  if (exists && !S_ISREG(info.st_mode)) {
    fd_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0) fail("cannot open");
    return;
  }
  path_ = resolved(path);
  open_temporary();
  mode_t mode = info.st_mode & 0777;
  if (!exists) {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    mode = 0666 & ~mask;
  }
  if (::fchmod(fd_, mode) != 0) fail("cannot write");
}

// Opens the temporary file. The signal handler gets its name before the file exists, so that no signal leaves
// the file behind.
void OutputFile::open_temporary() {
  for (int attempt = 0;; ++attempt) {
    temporary_ = path_ + "." + std::to_string(::getpid()) + "-" + std::to_string(attempt) + ".tmp";
    unfinished_.emplace(temporary_);
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd_ >= 0) return;
    const bool again = errno == EEXIST && attempt < 100;
    unfinished_.reset();
    if (again) continue;
    temporary_.clear();
    fail("cannot write");
  }
}

OutputFile::~OutputFile() {
  if (fd_ >= 0 && fd_ != STDOUT_FILENO) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::write(std::string_view text) {
  pending_ += text;
  if (pending_.size() >= kBuffer) flush();
}

void OutputFile::flush() {
  if (!write_all(fd_, pending_)) fail("cannot write");
  pending_.clear();
}

void OutputFile::commit() {
  flush();
  if (temporary_.empty()) return;
  if (::fsync(fd_) != 0) fail("cannot write");
  const int fd = fd_;
  fd_ = -1;
  if (::close(fd) != 0) fail("cannot write");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot replace");
  temporary_.clear();
  // Syncs the directory, so that the new name is on disk. It is no error if the file system cannot do that.
  const int directory = ::open(directory_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    ::fsync(directory);
    ::close(directory);
  }
}

void OutputFile::fail(const char* what) {
  const int error = errno;
  throw OutputError(std::string(what) + " " + (path_ == "-" ? "standard output" : path_) + ": " +
                    std::strerror(error));
}

void write_stdout(std::string_view text) {
  if (!write_all(STDOUT_FILENO, text)) {
    throw OutputError(std::string("cannot write standard output: ") + std::strerror(errno));
  }
}

std::vector<std::string> headers_of(const std::vector<std::string>& predictors,
                                    const std::vector<std::string>& others) {
  std::vector<std::string> out = predictors;
  for (std::string& name : out) {
    if (std::ranges::count(others, name) == 0) continue;
    while (std::ranges::count(others, name) + std::ranges::count(predictors, name) > 0) name = "x_" + name;
  }
  return out;
}

}  // namespace nlsq::cli
