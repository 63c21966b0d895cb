// Implements MappedFile with mmap, and handles files that shrink while mapped.
#include "table/source/mapped_file.hpp"

#include "errors.hpp"
#include "table/scratch/large_mappings.hpp"
#include "table/scratch/scratch_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <string_view>

namespace nlsq::cli {

namespace {

// Handles access to a page that cannot be read. Only write and _exit are safe here.
extern "C" void page_was_lost(int) {
  constexpr std::string_view kMessage =
      "nlsq-fit: the input file was cut short while it was being read, or a scratch file cannot be read\n";
  if (::write(STDERR_FILENO, kMessage.data(), kMessage.size()) < 0) ::_exit(kExitBadData);
  ::_exit(kExitBadData);
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
  if (beyond_memory(size)) add_large_mapping(data, size);
  else ::madvise(data, size, MADV_WILLNEED);
  handle_lost_pages();
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  remove_large_mapping(data_);
  ::munmap(data_, size_);
}

}  // namespace nlsq::cli
