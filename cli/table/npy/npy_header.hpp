// The header of NumPy's .npy format, versions 1 to 3 (numpy/lib/format.py).
#pragma once

#include <nlsq/column.hpp>

#include <cstddef>
#include <string_view>

namespace nlsq::cli {

// Types that Column does not know are turned into doubles.
enum class NpyType { f64, f32, i8, u8, i16, u16, i32, u32, i64, u64 };

struct NpyHeader {
  NpyType type = NpyType::f64;
  std::size_t item = 8;  // bytes
  bool big_endian = false;
  bool fortran = false;  // columns one behind the other
  std::size_t rows = 0, columns = 1;
  std::size_t bytes() const { return rows * columns * item; }  // checked not to overflow
};

// Reads the text between the header's length and the data. Throws BadData, without the file's name, for what
// is no such header and for arrays that are no table of real numbers.
NpyHeader parse_npy_header(std::string_view text);

}  // namespace nlsq::cli
