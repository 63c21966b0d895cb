// Counts and merges precision issues.
#include "dense/tile_issues.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

template <class T>
PrecisionIssue issues_of(const T* const* columns, std::size_t n, std::size_t rows, Operation operation,
                         Format format) {
  const double near = info(format).max / 16;
  PrecisionIssue found{.operation = operation, .format = format};
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t before = found.nan + found.inf + found.near_limit;
    for (std::size_t j = 0; j < n; ++j) {
      if (columns[j] == nullptr) continue;
      const double size = std::fabs(static_cast<double>(columns[j][i]));
      if (std::isnan(size)) ++found.nan;
      else if (std::isinf(size)) ++found.inf;
      else if (size > near) ++found.near_limit;
    }
    if (found.nan + found.inf + found.near_limit != before) ++found.rows;
  }
  return found;
}

template PrecisionIssue issues_of(const float* const*, std::size_t, std::size_t, Operation, Format);
template PrecisionIssue issues_of(const double* const*, std::size_t, std::size_t, Operation, Format);

void add_issue(std::vector<PrecisionIssue>& log, const PrecisionIssue& issue) {
  if (issue.rows == 0) return;
  const auto same = std::ranges::find_if(log, [&](const PrecisionIssue& known) {
    return known.iteration == issue.iteration && known.operation == issue.operation &&
           known.format == issue.format && known.component == issue.component;
  });
  if (same != log.end()) *same += issue;
  else log.push_back(issue);
}

}  // namespace nlsq::inline v0
