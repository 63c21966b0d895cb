// Records where a result came from, for --json: the files read with their checksums, the options and the
// version.
#pragma once

#include "fit_command.hpp"

#include <nlohmann/json_fwd.hpp>

namespace nlsq::cli {

// Adds version, options and files.
void add_provenance(nlohmann::ordered_json& json, const FitReport& report);

}  // namespace nlsq::cli
