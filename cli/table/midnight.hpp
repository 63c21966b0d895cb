// Finds times of day that run over midnight: 00:01 after 23:59 would be almost a day earlier.
#pragma once

#include "table/csv/csv_options.hpp"

#include <nlsq/column.hpp>

#include <cstddef>
#include <functional>
#include <string>

namespace nlsq::cli {

inline constexpr double kHalfADay = 12 * 3600;  // in seconds

// Returns true if a column has times of day without dates.
inline bool has_times_of_day(const CsvShape& shape, std::size_t index) {
  const TimeOrigin* const origin = shape.time(index);
  return origin != nullptr && !origin->moment.has_date;
}

// Throws BadData if a time of day in column `index` is more than half a day earlier than the one before it.
// Other columns are not checked. `times` holds the numbers of the column. If `group` is not null, each time
// is compared with the one before it in the same group. The message begins with place(row).
void refuse_midnight(const CsvShape& shape, std::size_t index, const Column& times, const Column* group,
                     const std::function<std::string(std::size_t)>& place);

}  // namespace nlsq::cli
