// Finds comments behind the data of a row: "1.0 2.0  # bad point". The detection of the format and
// RecordParser use it.
#pragma once

#include "table/csv/csv_options.hpp"

#include <string>
#include <string_view>

namespace nlsq::cli {

// Returns the start of the comment in the record that begins at `begin`, or null. A comment begins outside
// quotes with the comment sign after a blank; "#N/A" is a value. The search ends at `end` or at a line ending
// outside quotes.
const char* find_inline_comment(const char* begin, const char* end, const std::string& comment);

// Returns the text of a record up to its comment at `comment`, without the blanks between them.
std::string_view without_comment(const char* begin, const char* comment, char delimiter);

// Returns true if `text` begins with "#N/A" as a value of the first column, not with a comment.
bool begins_with_missing_value(std::string_view text);

}  // namespace nlsq::cli
