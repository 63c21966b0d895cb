// Finds times of day that run over midnight: 00:01 after 23:59 would be almost a day earlier.
#pragma once

#include "table/csv/csv_options.hpp"

#include <nlsq/column.hpp>

#include <functional>
#include <string>

namespace nlsq::cli {

// Throws BadData if column `index` has times of day without dates, and one of them is earlier than the one
// before by more than half a day. `times` are its numbers. With `group`, which may be null, each group is
// looked at by itself. The message begins with place(row).
void refuse_midnight(const CsvShape& shape, std::size_t index, const Column& times, const Column* group,
                     const std::function<std::string(std::size_t)>& place);

}  // namespace nlsq::cli
