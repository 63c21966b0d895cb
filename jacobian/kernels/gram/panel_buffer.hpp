// Provides the memory into which kernels copy columns.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace nlsq::inline v0 {
namespace {

// Memory of one thread that grows to the largest requested panel.
class PanelBuffer {
 public:
  PanelBuffer() = default;
  PanelBuffer(const PanelBuffer&) = delete;
  PanelBuffer& operator=(const PanelBuffer&) = delete;
  ~PanelBuffer() { std::free(data_); }

  void* bytes(std::size_t count) {
    if (count <= size_) return data_;
    std::free(data_);
    size_ = 0;
    data_ = std::aligned_alloc(64, (count + 63) / 64 * 64);
    if (data_ == nullptr) throw std::bad_alloc();
    size_ = count;
    return data_;
  }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace
}  // namespace nlsq::inline v0
