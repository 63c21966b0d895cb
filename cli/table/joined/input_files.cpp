// Implements open_inputs().
#include "table/joined/input_files.hpp"

#include "table/joined/joined_table.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

namespace nlsq::cli {

InputFiles open_inputs(const std::vector<std::string>& files, const CsvOptions& options,
                       bool with_checksums) {
  InputFiles inputs;
  inputs.checksums = std::make_shared<InputChecksums>(files.size());
  if (files.size() > 1) {
    inputs.table = make_joined_table(files, options, inputs.checksums, with_checksums);
    return inputs;
  }
  OpenedSource source = open_source(files.front(), with_checksums);
  inputs.checksums->front() = source.checksum;
  inputs.table = open_table(std::move(source), options);
  return inputs;
}

std::uint64_t bytes_of(const std::vector<std::string>& files) {
  std::uint64_t bytes = 0;
  for (const std::string& file : files) {
    std::error_code unknown;
    if (!std::filesystem::is_regular_file(file, unknown)) return 0;
    bytes += std::filesystem::file_size(file, unknown);
    if (unknown) return 0;
  }
  return bytes;
}

std::vector<InputFile> describe_inputs(const std::vector<std::string>& files, const TableColumns& read,
                                       const InputFiles& inputs) {
  std::vector<InputFile> out;
  for (std::size_t k = 0; k < files.size(); ++k) {
    const std::shared_ptr<InputChecksum>& checksum = (*inputs.checksums)[k];
    const TableColumns& file = read.files.empty() ? read : read.files[k];
    out.push_back({files[k], file.rows_in_file(), checksum ? checksum->finish() : ""});
  }
  return out;
}

}  // namespace nlsq::cli
