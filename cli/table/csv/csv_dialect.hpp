// What kind of table this is: the delimiter, and whether the first record is a header. Decided from the
// first lines alone, echoed in the report, and overridden by --delimiter and --header.
#pragma once

#include "table/csv/csv_options.hpp"
#include "table/csv/csv_view.hpp"

#include <string>
#include <vector>

namespace nlsq::cli {

// The delimiter of the records that start at `p` (those that are complete in memory, at most 100).
// Among tab, semicolon and comma the first that occurs equally often, and at all, in every line; else
// runs of blanks if every line has equally many fields; else whichever of them occurs most.
char find_delimiter(const CsvView& text, const char* p, const CsvOptions& options);

struct SampleRecord {
  std::vector<std::string> fields;
  const char* begin = nullptr;
  const char* end = nullptr;  // behind the line ending
  std::size_t lines = 0;      // physical lines in it
};

// The first records, at most `limit`; a record that is not complete in memory ends the list, and
// `open_quote` is then set to the quote in it that is still open, if there is one.
std::vector<SampleRecord> sample_records(const CsvView& text, const char* p, char delimiter,
                                         const std::string& comment, std::size_t limit,
                                         const char** open_quote);

// Whether the first record names the columns. Throws BadData when its fields are part numbers, part text
// over numbers: guessing would either lose a row or misread the table.
bool first_record_is_header(const CsvView& text, const std::vector<SampleRecord>& records,
                            const CsvOptions& options);

}  // namespace nlsq::cli
