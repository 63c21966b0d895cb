// Scratch memory for one call, on the stack if it is small, else on the heap. Small fits thus allocate
// nothing, and threads share nothing.
#pragma once

#include <cstddef>
#include <memory>

namespace nlsq::inline v0 {

template <class T, std::size_t Small>
class LocalBuffer {
 public:
  // Does not initialize the elements.
  explicit LocalBuffer(std::size_t size) : size_(size), large_(size > Small ? new T[size] : nullptr) {}
  LocalBuffer(const LocalBuffer&) = delete;
  LocalBuffer& operator=(const LocalBuffer&) = delete;

  T* data() { return large_ ? large_.get() : small_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }

 private:
  std::size_t size_;
  T small_[Small];
  std::unique_ptr<T[]> large_;
};

}  // namespace nlsq::inline v0
