// NumPy's .npy arrays as tables: the file itself is the memory of the columns where it is laid out for that.
#pragma once

#include "table/table.hpp"

namespace nlsq::cli {

// `source` stands at the first byte of the file. One dimension is one column, two are rows by columns.
// Float64, float32 and integers of up to 32 bits are used in place; 64-bit integers, the other byte order and
// rows left out cost a copy of the chosen columns. Throws BadData.
std::unique_ptr<Table> make_npy_table(OpenedSource source, MissingPolicy missing);

}  // namespace nlsq::cli
