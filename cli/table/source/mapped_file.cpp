// Implements MappedFile with mmap, and handles files that shrink while mapped.
#include "table/source/mapped_file.hpp"

#include "errors.hpp"
#include "table/scratch/large_mappings.hpp"
#include "table/scratch/scratch_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string_view>
#include <system_error>

namespace nlsq::cli {

namespace {

// Handles access to a page that cannot be read. Only write and _exit are safe here.
extern "C" void page_was_lost(int) {
  constexpr std::string_view kMessage =
      "nlsq-fit: the input file was cut short while it was being read, or a scratch file cannot be read\n";
  if (::write(STDERR_FILENO, kMessage.data(), kMessage.size()) < 0) ::_exit(kExitBadData);
  ::_exit(kExitBadData);
}

constexpr std::size_t kReadBeside = std::size_t{64} << 20;  // bytes from which a file is read beside the fit
constexpr std::size_t kPiece = std::size_t{8} << 20;

// Asks the system for the whole file, one piece after the other. The call for a piece returns when the disk
// has taken most of it.
void read_ahead(const std::stop_token& stop, std::byte* data, std::size_t size) {
  for (std::size_t at = 0; at < size && !stop.stop_requested(); at += kPiece)
    ::madvise(data + at, std::min(kPiece, size - at), MADV_WILLNEED);
}

}  // namespace

void handle_lost_pages() {
  struct sigaction action = {};
  action.sa_handler = page_was_lost;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}

MappedFile::MappedFile(int fd, std::size_t size) {
  if (size == 0) return;
  void* const data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) return;
  data_ = static_cast<std::byte*>(data);
  size_ = size;
  const bool beyond = beyond_memory(size), large = beyond || size >= kReadBeside;
  if (large) add_large_mapping(data, size, beyond ? ReadPages::go_back : ReadPages::stay);
  if (!large) read_ahead({}, data_, size);
  else if (cache_holds(size)) {
    try {
      reader_ = std::jthread(read_ahead, data_, size);
    } catch (const std::system_error&) {
      // The passes read the file themselves.
    }
  }
  handle_lost_pages();
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  reader_ = {};  // ends before the memory does
  remove_large_mapping(data_);
  ::munmap(data_, size_);
}

}  // namespace nlsq::cli
