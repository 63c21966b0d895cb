// Kept is an optional value that keeps its memory when it is reset. It is used for linearizations, whose
// vectors are refilled often.
#pragma once

#include <utility>

namespace nlsq::inline v0 {

template <class T>
class Kept {
 public:
  explicit operator bool() const { return known_; }
  T& operator*() { return value_; }
  const T& operator*() const { return value_; }
  T* operator->() { return &value_; }
  const T* operator->() const { return &value_; }
  void reset() { known_ = false; }
  // Marks the value as set and returns it to be filled.
  T& renew() {
    known_ = true;
    return value_;
  }
  void swap(Kept& other) noexcept {
    std::swap(value_, other.value_);
    std::swap(known_, other.known_);
  }

 private:
  T value_{};
  bool known_ = false;
};

}  // namespace nlsq::inline v0
