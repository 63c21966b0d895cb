// Counts numbers of a tile that overflow their format or come close to it. The passes report them as
// precision issues.
#pragma once

#include <nlsq/operation.hpp>

#include <cstddef>
#include <vector>

namespace nlsq::inline v0 {

// A value within a factor 16 of the largest f32 number counts as near the limit; bf16 has the same range.
inline constexpr double kNearLimit = 0x1.fffffep127 / 16;

// Returns the issues in `n` columns, some of which may be null. `rows` counts the rows with any issue.
template <class T>
PrecisionIssue issues_of(const T* const* columns, std::size_t n, std::size_t rows, Operation operation,
                         Format format);

// Merges an issue into the log: one entry per iteration, operation, format and component. Drops issues
// without rows.
void add_issue(std::vector<PrecisionIssue>& log, const PrecisionIssue& issue);

}  // namespace nlsq::inline v0
