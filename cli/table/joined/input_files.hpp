// Opens the files of the command line as one table. shared_data.cpp uses it.
#pragma once

#include "table/table.hpp"

#include <memory>
#include <string>
#include <vector>

namespace nlsq::cli {

// The checksums of the files, each null if none is wanted.
using InputChecksums = std::vector<std::shared_ptr<InputChecksum>>;

struct InputFiles {
  std::unique_ptr<Table> table;
  std::shared_ptr<InputChecksums> checksums;
};

// Holds the members that --json writes for a file.
struct InputFile {
  std::string name;
  std::size_t rows = 0;  // includes those left out
  std::string checksum;  // empty if none is wanted
};

// One file is its own table. Several must have the same columns, by name if the first file names them, and
// the rows of the table are theirs in order. Throws BadData.
InputFiles open_inputs(const std::vector<std::string>& files, const CsvOptions& options, bool with_checksums);

// Returns the number of bytes of the files, or 0 if one is no regular file.
std::uint64_t bytes_of(const std::vector<std::string>& files);

// Describes each file after it was read. Reads what is left of it, for the checksum.
std::vector<InputFile> describe_inputs(const std::vector<std::string>& files, const TableColumns& read,
                                       const InputFiles& inputs);

}  // namespace nlsq::cli
