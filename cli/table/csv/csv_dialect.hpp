// Detects the format of a table, for CsvReader: the delimiter, and whether the first record is a header. It
// uses the first lines only. The report shows the result; --delimiter and --header override it.
#pragma once

#include "table/csv/csv_options.hpp"
#include "table/csv/csv_view.hpp"

#include <string>
#include <vector>

namespace nlsq::cli {

// Finds the delimiter of the records that start at `p` (those complete in memory, at most 100): the first of
// tab, semicolon, comma and | that occurs equally often, and at least once, in every line; otherwise runs of
// blanks, if every line has equally many fields; otherwise the candidate that occurs most.
char find_delimiter(const CsvView& text, const char* p, const CsvOptions& options);

struct SampleRecord {
  std::vector<std::string> fields;
  const char* begin = nullptr;
  const char* end = nullptr;  // after the line ending
  std::size_t lines = 0;      // physical lines in it
};

// Returns the first records, at most `limit`. A record that is not complete in memory ends the list.
// `open_quote` is then set to its open quote, if there is one.
std::vector<SampleRecord> sample_records(const CsvView& text, const char* p, char delimiter,
                                         const std::string& comment, std::size_t limit,
                                         const char** open_quote);

// Returns true if the first record names the columns. Throws BadData if its fields are partly numbers, partly
// text above numbers: a guess would lose a row or misread the table.
bool first_record_is_header(const CsvView& text, const std::vector<SampleRecord>& records,
                            const CsvOptions& options);

}  // namespace nlsq::cli
