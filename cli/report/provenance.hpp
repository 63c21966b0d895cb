// Records where a result came from, for --json: the files read with their checksums, the options and the
// version.
#pragma once

#include "fit_command.hpp"

#include <nlsq/json/writer.hpp>

namespace nlsq::cli {

// Writes version, options and files.
void add_provenance(JsonWriter& json, const FitReport& report);

}  // namespace nlsq::cli
