// Compares the columns of a file with those of the first file of a table. joined_table.cpp uses it.
#pragma once

#include "table/table.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace nlsq::cli {

// Returns for each column of the first file the number of the same column in `part`, by name, or by position
// if the first file has no names. Unless both have the same columns, throws BadData, which lists those of the
// file.
std::vector<std::size_t> same_columns(const std::string& first_name, const CsvShape& first,
                                      const Table& part);

}  // namespace nlsq::cli
