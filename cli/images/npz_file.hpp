// Writes arrays as a .npz archive: a zip of .npy files, not compressed. image_command.cpp uses it.
#pragma once

#include "report/output_file.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace nlsq::cli {

// The archive always has 64-bit sizes (zip64), so that one form serves maps of any size.
class NpzFile {
 public:
  explicit NpzFile(const std::string& path) : file_(path) {}
  // Add an array in C order.
  void add(const std::string& name, const std::vector<std::size_t>& shape, std::span<const double> values);
  void add(const std::string& name, const std::vector<std::size_t>& shape,
           std::span<const std::uint8_t> values);
  // Writes the directory and puts the file in its place. Without it, nothing changes on disk.
  void commit();

 private:
  struct Member {
    std::string name;
    std::uint32_t crc = 0;
    std::uint64_t size = 0, offset = 0;
  };
  void add_bytes(const std::string& name, const std::string& header, std::span<const std::byte> bytes);
  void write(std::string_view text);

  OutputFile file_;
  std::uint64_t written_ = 0;
  std::vector<Member> members_;
};

}  // namespace nlsq::cli
