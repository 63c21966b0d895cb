// Maps a file into memory without a copy. The readers of .npy and .npz files use it.
#pragma once

#include <cstddef>
#include <thread>

namespace nlsq::cli {

// From now on, where a page of a mapped file cannot be read, because another program truncated the file or
// the disk failed, the process prints a message and exits with the status for bad data. It cannot continue.
void handle_lost_pages();

class MappedFile {
 public:
  // Maps `size` bytes from the start of the file open as `fd`. size() is 0 if that fails.
  MappedFile(int fd, std::size_t size);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  const std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::jthread reader_;  // reads a file ahead that fits in memory
};

}  // namespace nlsq::cli
