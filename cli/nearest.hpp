// Suggests the known name that is nearest to an unknown one, for messages.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace nlsq::cli {

// "; did you mean 'time'?" for the name with the smallest edit distance, or an empty text if none is near.
// Upper and lower case are the same, and two exchanged letters count as one edit.
std::string suggest_nearest(std::string_view name, std::span<const std::string> known);

}  // namespace nlsq::cli
