// Implements the memory of columns: small ones from the heap, large ones mapped, with a file or without.
#include "table/scratch/scratch_memory.hpp"

#include "errors.hpp"
#include "table/scratch/large_mappings.hpp"
#include "table/source/mapped_file.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <mutex>
#include <new>
#include <set>
#include <sstream>
#include <utility>

namespace nlsq::cli {

namespace {

constexpr std::size_t kLarge = std::size_t{1} << 20;  // smaller columns are not worth a mapping

std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();  // fixed before the work begins
std::string folder = "/tmp";
std::atomic<std::uint64_t> in_memory = 0, in_files = 0;  // bytes of large columns
std::mutex files_mutex;
std::set<const void*> of_files;  // the columns that lie in files

std::string size_text(std::uint64_t bytes) {
  return bytes < 10'000'000'000 ? fmt::format("{:.0f} MB", static_cast<double>(bytes) / 1e6)
                                : fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
}

[[noreturn]] void fail(const char* what, std::size_t bytes, int error) {
  std::string free;
  struct statvfs disk = {};
  if (::statvfs(folder.c_str(), &disk) == 0)
    free = fmt::format(", {} are free there", size_text(std::uint64_t{disk.f_bavail} * disk.f_frsize));
  throw BadData(fmt::format(
      "{} {}: {}; a column of the table needs {}{}, and the limit of --memory ({}) is reached. Name a folder "
      "on a larger disk with --scratch, or allow more with --memory",
      what, folder, std::strerror(error), size_text(bytes), free, size_text(limit)));
}

class File {
 public:
  File() {
#ifdef O_TMPFILE
    fd_ = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd_ >= 0) return;
#endif
    std::string name = folder + "/nlsq-scratch-XXXXXX";
    fd_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (fd_ >= 0) ::unlink(name.c_str());
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) ::close(fd_);  // a mapping keeps the file
  }
  int descriptor() const { return fd_; }

 private:
  int fd_ = -1;
};

void* map_file(std::size_t bytes) {
  const File file;
  if (file.descriptor() < 0) fail("cannot write a scratch file in", bytes, errno);
  const int error = ::posix_fallocate(file.descriptor(), 0, static_cast<off_t>(bytes));
  if (error != 0) fail("cannot reserve a scratch file in", bytes, error);
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor(), 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  add_large_mapping(memory, bytes, ReadPages::go_back);
  handle_lost_pages();
  const std::lock_guard lock(files_mutex);
  of_files.insert(memory);
  in_files += bytes;
  return memory;
}

// Returns a number in the first line of a file of the system, or nothing if there is none.
std::uint64_t number_in(const std::string& file) {
  std::uint64_t number = 0;
  std::ifstream in(file);
  return in >> number ? number : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

std::uint64_t group_limit(const std::string& groups, const std::string& root) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  // Looks at the groups from `path` up to the top. In a container the path may be that of the host, which
  // does not exist there; the group's own files are then at the top.
  const auto look = [&](const std::string& tree, std::string path, const char* file) {
    for (;;) {
      least = std::min(least, number_in(tree + path + "/" + file));
      const std::size_t parent = path.rfind('/');
      if (path.empty() || parent == std::string::npos) return;
      path.resize(parent);
    }
  };
  std::istringstream lines(groups);  // such as 0::/user.slice and 4:memory:/jobs
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) look(root, path, "memory.max");
    if (controllers.find("memory") != std::string::npos)
      look(root + "/memory", path, "memory.limit_in_bytes");
  }
  return least;
}

std::uint64_t memory_allowed() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  const std::uint64_t machine = pages > 0 && size > 0
                                    ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size)
                                    : std::numeric_limits<std::uint64_t>::max();
  std::ostringstream groups;
  if (std::ifstream file("/proc/self/cgroup"); file) groups << file.rdbuf();
  return std::min(machine, group_limit(groups.str(), "/sys/fs/cgroup"));
}

void choose_scratch(std::uint64_t memory, std::string where) {
  limit = memory;
  if (where.empty()) {
    const char* const named = std::getenv("TMPDIR");
    where = named != nullptr && *named != '\0' ? named : "/tmp";
  }
  folder = std::move(where);
}

bool cache_holds(std::uint64_t bytes) { return bytes <= memory_allowed() / 2; }
bool beyond_memory(std::uint64_t bytes) { return bytes > limit || !cache_holds(bytes); }

std::uint64_t bytes_in_scratch() noexcept { return in_files; }
const std::string& scratch_folder() noexcept { return folder; }

void* allocate_column(std::size_t bytes) {
  if (bytes < kLarge) return ::operator new(bytes);
  if (in_memory.fetch_add(bytes) + bytes <= limit) {
    void* const memory = ::operator new(bytes, std::nothrow);
    if (memory != nullptr) return memory;
    in_memory -= bytes;
    throw std::bad_alloc();
  }
  in_memory -= bytes;
  return map_file(bytes);
}

void free_column(void* memory, std::size_t bytes) noexcept {
  if (bytes >= kLarge) {
    const std::lock_guard lock(files_mutex);
    if (of_files.erase(memory) > 0) {
      remove_large_mapping(memory);
      ::munmap(memory, bytes);
      in_files -= bytes;
      return;
    }
    in_memory -= bytes;
  }
  ::operator delete(memory);
}

}  // namespace nlsq::cli
