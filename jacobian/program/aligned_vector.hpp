// AlignedVector is a vector that begins at a cache line. Kernels access whole vector registers, and an access
// that crosses two lines costs two.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace nlsq::inline v0 {

template <class T>
struct CacheLineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};

  CacheLineAllocator() = default;
  template <class U>
  CacheLineAllocator(const CacheLineAllocator<U>&) {}  // NOLINT: as the standard has it
  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
  void deallocate(T* place, std::size_t) { ::operator delete(place, kLine); }
  bool operator==(const CacheLineAllocator&) const { return true; }
};

template <class T>
using AlignedVector = std::vector<T, CacheLineAllocator<T>>;

}  // namespace nlsq::inline v0
