// Row numbers in messages of the library, which count from 0, as places in the file.
#pragma once

#include "table/data_selection.hpp"

#include <string>

namespace nlsq::cli {

// Replaces "row 1" by the place of that row: "data.csv:3".
std::string with_places(const std::string& message, const FitData& data);

}  // namespace nlsq::cli
