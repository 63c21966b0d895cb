// Divides the bytes of the input files among processes.
#pragma once

#include "table/csv/csv_options.hpp"
#include "table/source/byte_source.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nlsq::cli {

// Returns the part of each file that this process reads. Returns nothing if every process reads all: in a
// single process, for little data, and if an input is no regular file.
std::optional<std::vector<FilePart>> own_parts(const std::vector<std::string>& files);

// Throws BadData in all processes if they see different files under these names. This happens if machines
// share no file system, or have an older copy. It compares the sizes, and the first and last bytes.
void check_same_files(const std::vector<std::string>& files);

// Opens the records of a part of a text file, which begin after a line ending. `data` is the offset of the
// file's first record. A line that begins in the part belongs to it as a whole. Throws BadData if the file
// cannot be read in parts, because it is compressed, or not UTF-8.
std::unique_ptr<ByteSource> open_part(const OpenedSource& source, const FilePart& part, std::uint64_t data);

// Holds the rows [first, end) of an array. A process reads them when it has a part of the array's file.
struct RowPart {
  std::size_t first, end;
};
RowPart rows_of_part(const OpenedSource& source, const FilePart& part, std::size_t rows);

}  // namespace nlsq::cli
