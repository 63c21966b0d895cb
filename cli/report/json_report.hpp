// The result as one JSON object. The keys are a contract (docs): add to them freely, rename none.
#pragma once

#include "fit_command.hpp"

#include <string>

namespace nlsq::cli {

// Ends with a newline. Doubles read back to the same bits; undefined and infinite numbers are null.
std::string json_report(const FitReport& report);

std::string json_library_version();

}  // namespace nlsq::cli
