// The file of --checkpoint.
#pragma once

#include "arguments/arguments.hpp"

#include <nlsq/journal.hpp>

#include <memory>

namespace nlsq::cli {

// Opens the file; null without --checkpoint. Of several processes only the first keeps one. Throws
// OutputError.
std::shared_ptr<Journal> open_checkpoint(const Arguments& arguments);

}  // namespace nlsq::cli
