// An optional value whose memory outlives it: the vectors of a linearization are filled again and again.
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
  // To be filled; it counts as known from here on.
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
