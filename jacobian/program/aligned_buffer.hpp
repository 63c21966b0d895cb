// Zero-initialized memory for tiles, aligned to cache lines. Evaluators and kernels use it.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace nlsq::inline v0 {

template <class T>
class AlignedBuffer {
 public:
  static constexpr std::align_val_t kAlignment{64};

  explicit AlignedBuffer(std::size_t size = 0) : data_(size == 0 ? nullptr : new (kAlignment) T[size]()) {}
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(T* p) const { ::operator delete[](p, kAlignment); }
  };
  std::unique_ptr<T[], Free> data_;
};

}  // namespace nlsq::inline v0
