// Finds what the first lines of a table contain about its columns, besides a plain header: names in a
// comment, a row of units, columns of dates. CsvReader uses it.
#pragma once

#include "table/csv/csv_dialect.hpp"
#include "table/csv/csv_options.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nlsq::cli {

// Returns a column name without surrounding blanks and without characters of no width, which nobody could
// type.
std::string clean_name(std::string_view text);

// Returns the column names in the comment line just before the data ("# time  counts"). It returns them only
// if there is one name for each of the `columns` columns and none is a number or occurs twice.
std::optional<std::vector<std::string>> names_in_comment(std::string_view line, char delimiter,
                                                         const CsvOptions& options, std::size_t columns);

// Returns true if records[1], below the header, is a row of units: none of its cells is a number or a date,
// and all cells of the next row are.
bool second_record_is_units(const std::vector<SampleRecord>& records, const CsvOptions& options);

// Returns for each column the first cell from records[first] on, if that is a date or a time. The cells of
// the column are read as seconds since this one.
std::vector<std::optional<TimeOrigin>> time_columns(const std::vector<SampleRecord>& records,
                                                    std::size_t first, const CsvOptions& options,
                                                    std::size_t columns);

// The delimiter in the first line "sep=;" that Excel writes and reads. `length` is that of the line without
// its ending.
std::optional<char> excel_separator(std::string_view text, std::size_t& length);

}  // namespace nlsq::cli
