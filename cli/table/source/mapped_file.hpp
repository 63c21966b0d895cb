// A file as memory, without a copy.
#pragma once

#include <cstddef>

namespace nlsq::cli {

class MappedFile {
 public:
  // Maps `size` bytes from the start of the file open as `fd`. size() is 0 where that cannot be done.
  // Should the file be cut short by another program while it is mapped, this one says so and ends with the
  // status of bad data: there is nothing to go on with.
  MappedFile(int fd, std::size_t size);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  const std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace nlsq::cli
