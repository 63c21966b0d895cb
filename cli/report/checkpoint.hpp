// Reads and writes the file of --checkpoint.
#pragma once

#include "arguments/arguments.hpp"

#include <nlsq/journal.hpp>

#include <memory>

namespace nlsq::cli {

// Opens the file, or returns null without --checkpoint. If there are several processes, only the first keeps
// a file. Throws OutputError.
std::shared_ptr<Journal> open_checkpoint(const Arguments& arguments);

}  // namespace nlsq::cli
