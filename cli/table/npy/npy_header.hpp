// Declares the header of NumPy's .npy format, versions 1 to 3 (numpy/lib/format.py). NpyArray uses it.
#pragma once

#include "table/source/byte_source.hpp"

#include <nlsq/column.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace nlsq::cli {

// Types that Column does not support are converted to doubles.
enum class NpyType { f64, f32, i8, u8, i16, u16, i32, u32, i64, u64 };

struct NpyHeader {
  NpyType type = NpyType::f64;
  std::size_t item = 8;  // bytes
  bool big_endian = false;
  bool fortran = false;               // columns are contiguous
  std::vector<std::size_t> shape;     // as in Python
  std::size_t rows = 0, columns = 1;  // columns: the numbers of a row, in all its dimensions
  std::size_t bytes() const { return rows * columns * item; }  // was checked not to overflow
};

// Parses the text between the header's length and the data. Throws BadData, without the file name, for an
// invalid header, for numbers that are not real, and for arrays of more than `most_dimensions`: 2 for tables.
NpyHeader parse_npy_header(std::string_view text, std::size_t most_dimensions = 2);

// Reads a header from a source at the first byte of a .npy file. Sets `start` to the offset of the data.
NpyHeader read_npy_header(ByteSource& source, std::size_t& start, std::size_t most_dimensions = 2);

// Reads exactly `size` bytes, or fewer at the end of the source. Returns their number.
std::size_t read_fully(ByteSource& source, char* out, std::size_t size);

}  // namespace nlsq::cli
