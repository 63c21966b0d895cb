// Reads tables from NumPy's .npz archives: each one-dimensional array is a column with the array's name.
// table.cpp uses it.
#pragma once

#include "table/table.hpp"

namespace nlsq::cli {

// `source` must be at the first byte of a zip archive. The columns of a two-dimensional array A are A_1, A_2
// and so on. Arrays that cannot be columns are left out, and the description lists them. Only chosen arrays
// are read, and they must have equally many rows. Throws BadData.
std::unique_ptr<Table> make_npz_table(OpenedSource source, MissingPolicy missing);

}  // namespace nlsq::cli
