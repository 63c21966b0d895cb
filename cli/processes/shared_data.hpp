// Reads the data of a fit in parts, one in each process, and makes one table of them.
#pragma once

#include "table/data_selection.hpp"
#include "table/joined/input_files.hpp"

#include <string>
#include <vector>

namespace nlsq::cli {

struct InputData {
  InputFiles inputs;
  FitData data;
};

// Opens the files and selects the data of a fit. Several processes divide the bytes of large files. If that
// is not possible, or a part could not be read, each of them reads all files, so that error messages are
// those of a single process. Throws in all processes if it throws in one.
InputData read_data(const std::vector<std::string>& files, const CsvOptions& csv, const Selection& selection,
                    bool with_checksums);

// Checks numbers after a fit has failed whose files were read with Selection::check_later. Throws BadData if
// some are not finite, with the message of a check before the fit.
void check_after_failure(const std::vector<std::string>& files, const CsvOptions& csv, Selection selection,
                         const FitData& data);

}  // namespace nlsq::cli
