// Decides which columns, or expressions of columns, are x, y, their standard deviations and the group.
#pragma once

#include "table/data_selection.hpp"
#include "table/table.hpp"

namespace nlsq::cli {

// Parses the expressions of the selection into `data`, whose shape is known. Throws UsageError for numbers of
// columns that do not go together, and BadData for columns that do not exist.
void choose_columns(FitData& data, const Table& table, const Selection& selection);

}  // namespace nlsq::cli
