// Finds columns whose numbers are so large that float64 rounds away what distinguishes their rows, such as
// times in nanoseconds since 1970.
#pragma once

#include <nlsq/column.hpp>

#include <string>

namespace nlsq::cli {

// Returns a warning about the column, or an empty text. The gap between neighbouring doubles is compared with
// the median step from one row to the next. A column is examined only if its first number is at least 2^53,
// from where on not all whole numbers are doubles. `label` names the column.
std::string warning_of_merged_numbers(const Column& column, const std::string& label);

}  // namespace nlsq::cli
