// Reads records that have a column of groups by the fast parser of numbers: the numbers before the group, a
// group that is known, and the numbers behind it. RecordParser uses it.
#pragma once

#include "table/csv/csv_record.hpp"
#include "table/csv/text_index.hpp"
#include "table/numbers/number_run.hpp"

#include <cstddef>
#include <optional>

namespace nlsq::cli {

// Returns the column of groups if no other column has cells that are not plain numbers.
std::optional<GroupColumn> only_group_column(const CsvLayout& layout);

// Does what a ReadNumberRun does, and reads the column of groups, too. It stops before a group that is
// missing, is in quotes, or has a blank in it or beside it. It also stops before a new group in the last
// column, because a comment may follow there. All calls with one `group` must read the same text, because
// `group` refers to it.
std::size_t read_run_with_group(ReadNumberRun read_run, const char*& p, const NumberRun& run,
                                GroupColumn& group, TextIndex& groups);

}  // namespace nlsq::cli
