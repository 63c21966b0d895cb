// Executable memory by mmap and mprotect.
#include "machine_code/executable_memory.hpp"

#include <cstring>
#include <utility>

#if defined(__unix__)
#include <sys/mman.h>
#endif

namespace nlsq::inline v0 {

ExecutableMemory::ExecutableMemory(std::span<const std::uint8_t> code) noexcept {
#if defined(__unix__)
  void* memory = mmap(nullptr, code.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  std::memcpy(memory, code.data(), code.size());
  if (mprotect(memory, code.size(), PROT_READ | PROT_EXEC) != 0) {
    munmap(memory, code.size());
    return;
  }
  memory_ = memory;
  size_ = code.size();
#else
  (void)code;
#endif
}

ExecutableMemory::~ExecutableMemory() {
#if defined(__unix__)
  if (memory_ != nullptr) munmap(memory_, size_);
#endif
}

ExecutableMemory::ExecutableMemory(ExecutableMemory&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), size_(std::exchange(other.size_, 0)) {}

ExecutableMemory& ExecutableMemory::operator=(ExecutableMemory&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace nlsq::inline v0
