// Reads tables from NumPy's .npy arrays. Where the layout allows it, columns refer to the mapped file
// directly. table.cpp uses it.
#pragma once

#include "table/table.hpp"

namespace nlsq::cli {

// `source` must be at the first byte of the file. A one-dimensional array is one column, a two-dimensional
// array is rows by columns. Float64, float32 and integers of up to 32 bits are used in place. 64-bit
// integers, the other byte order and left-out rows require a copy of the chosen columns. Throws BadData.
std::unique_ptr<Table> make_npy_table(OpenedSource source, const CsvOptions& options);

}  // namespace nlsq::cli
