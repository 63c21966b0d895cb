// Reads several files as one table. input_files.cpp makes it.
#pragma once

#include "table/joined/input_files.hpp"
#include "table/table.hpp"

#include <memory>
#include <string>
#include <vector>

namespace nlsq::cli {

// Looks at the beginning of every file, and then reads one file after another, so that a thousand files need
// no more memory and open files than one. `checksums` has a place for each file, which
// the table fills. Throws BadData if a file cannot be read or has other columns than the first.
std::unique_ptr<Table> make_joined_table(const std::vector<std::string>& files, const CsvOptions& options,
                                         std::shared_ptr<InputChecksums> checksums, bool with_checksums);

}  // namespace nlsq::cli
