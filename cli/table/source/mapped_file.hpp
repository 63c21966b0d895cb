// Maps a file into memory without a copy. npy_table.cpp uses it.
#pragma once

#include <cstddef>

namespace nlsq::cli {

class MappedFile {
 public:
  // Maps `size` bytes from the start of the file open as `fd`. size() is 0 if that fails. If another program
  // truncates the file while it is mapped, this process prints a message and exits with the status for bad
  // data, because it cannot continue.
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
