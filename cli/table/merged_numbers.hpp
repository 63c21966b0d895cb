// Finds columns whose numbers are so large that float64 rounds away what distinguishes their rows, such as
// times in nanoseconds since 1970.
#pragma once

#include <nlsq/column.hpp>

#include <string>

namespace nlsq::cli {

// Compares the gap between neighbouring doubles with the median step from one row to the next. Returns a
// warning if the gap is not small beside that step, or else an empty text. The function examines a column
// only if its first number is at least 2^53, because all whole numbers below that are doubles. `label` names
// the column.
std::string warning_of_merged_numbers(const Column& column, const std::string& label);

}  // namespace nlsq::cli
