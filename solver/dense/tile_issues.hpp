// What a tile's numbers did in a format that could not hold them, or nearly not.
#pragma once

#include <nlsq/operation.hpp>

#include <cstddef>
#include <vector>

namespace nlsq::inline v0 {

// A value within a factor 16 of the largest of f32 (of bf16, whose range is the same) counts as near the
// limit.
inline constexpr double kNearLimit = 0x1.fffffep127 / 16;

// Of `n` columns that may be null. Rows: those with any of it.
template <class T>
PrecisionIssue issues_of(const T* const* columns, std::size_t n, std::size_t rows, Operation operation,
                         Format format);

// One entry for each iteration, operation and format. What counts no rows is left out.
void add_issue(std::vector<PrecisionIssue>& log, const PrecisionIssue& issue);

}  // namespace nlsq::inline v0
