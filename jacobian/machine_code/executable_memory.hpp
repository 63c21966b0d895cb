// Memory whose contents the CPU may execute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace nlsq::inline v0 {

// Holds machine code. The memory is writable while the code is copied and executable afterwards, never both.
class ExecutableMemory {
 public:
  ExecutableMemory() = default;
  // Holds nothing if the system does not allow it.
  explicit ExecutableMemory(std::span<const std::uint8_t> code) noexcept;
  ~ExecutableMemory();
  ExecutableMemory(ExecutableMemory&& other) noexcept;
  ExecutableMemory& operator=(ExecutableMemory&& other) noexcept;

  // The first byte of the code, at the start of a page; null if this holds nothing.
  const void* code() const { return memory_; }

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace nlsq::inline v0
