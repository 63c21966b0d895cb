// The result of a fit as one JSON object. Programs depend on the keys (docs): add keys freely, but rename
// none.
#pragma once

#include "fit_command.hpp"

#include <string>

namespace nlsq::cli {

// Ends with a newline. Finite doubles read back to the same bits; undefined and infinite numbers are null.
std::string json_report(const FitReport& report);

// A text in quotes, with what JSON wants escaped. Bytes that are not UTF-8 are replaced.
std::string json_text(const std::string& text);

// The word for "status".
const char* status_word(Termination termination);

std::string json_library_version();

}  // namespace nlsq::cli
