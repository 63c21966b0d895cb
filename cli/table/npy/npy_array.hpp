// Declares the numbers of a .npy file, in the mapped file or in memory. npy_table.cpp reads columns of it,
// images/ reads pixels.
#pragma once

#include "table/npy/npy_header.hpp"
#include "table/source/byte_source.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

namespace nlsq::cli {

class NpyArray {
 public:
  // `source` must be at the first byte of the file. Throws BadData, with the file's name, also for an array
  // of more than `most_dimensions`.
  NpyArray(OpenedSource& source, std::size_t most_dimensions);

  const NpyHeader& header() const { return header_; }
  const std::byte* data() const { return data_; }
  const std::shared_ptr<void>& memory() const { return memory_; }  // owns the data
  // Returns true if the bytes of a number are in the other order than those of this machine.
  bool swapped() const {
    return header_.item > 1 && header_.big_endian == (std::endian::native == std::endian::little);
  }
  // Returns a text such as ".npy of float64, big-endian".
  std::string describe() const;
  // Converts elements first, first + stride ... to doubles at out, out + out_stride ...
  void read(std::size_t first, std::size_t stride, std::size_t count, double* out,
            std::size_t out_stride = 1) const;

 private:
  void load(OpenedSource& source, std::size_t start);
  void load_from_stream(ByteSource& source);
  void check_size(std::size_t have, bool more) const;

  NpyHeader header_;
  bool gzip_ = false;
  std::shared_ptr<void> memory_;
  const std::byte* data_ = nullptr;
};

// Returns element `i` of memory that may be misaligned or in the other byte order.
template <class T>
double npy_element(const std::byte* data, std::size_t i, bool swapped) {
  std::array<std::byte, sizeof(T)> bytes;
  std::memcpy(bytes.data(), data + i * sizeof(T), sizeof(T));
  if (swapped) std::reverse(bytes.begin(), bytes.end());
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return static_cast<double>(value);
}

// Calls `use` with a value of the corresponding C++ type.
template <class Use>
auto with_npy_type(NpyType type, Use use) {
  switch (type) {
    case NpyType::f64: return use(double{});
    case NpyType::f32: return use(float{});
    case NpyType::i8: return use(std::int8_t{});
    case NpyType::u8: return use(std::uint8_t{});
    case NpyType::i16: return use(std::int16_t{});
    case NpyType::u16: return use(std::uint16_t{});
    case NpyType::i32: return use(std::int32_t{});
    case NpyType::u32: return use(std::uint32_t{});
    case NpyType::i64: return use(std::int64_t{});
    case NpyType::u64: break;
  }
  return use(std::uint64_t{});
}

}  // namespace nlsq::cli
