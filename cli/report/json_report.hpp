// Declares the result of a fit as one JSON object. Programs depend on the keys (docs): add keys freely, but
// rename none.
#pragma once

#include "fit_command.hpp"

#include <string>

namespace nlsq::cli {

// Returns the object, followed by a newline. Finite doubles read back to the same bits. Undefined and
// infinite numbers are null.
std::string json_report(const FitReport& report);

// Returns the member "columns" of that object, for the line of all groups.
std::string json_columns(const FitData& data);

// Returns a text in quotes, escaped as JSON requires. Bytes that are not UTF-8 are replaced.
std::string json_text(const std::string& text);

std::string json_library_version();

}  // namespace nlsq::cli
