// Declares the options of an input table, and the format found in it. The command line and the CSV reader use
// them.
#pragma once

#include "table/numbers/date_time.hpp"
#include "table/numbers/number.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nlsq::cli {

enum class HeaderChoice { automatic, yes, no };
enum class MissingPolicy { error, drop };

// The delimiter character. kBlanks means runs of spaces and tabs.
inline constexpr char kBlanks = '\0';

// Bytes [begin, end) of a file, whose rows one of several processes reads.
struct FilePart {
  std::uint64_t begin, end;
};

struct CsvOptions {
  std::optional<char> delimiter;  // none: detected
  NumberFormat number;
  std::string comment = "#";  // begins comments, of a whole line or behind data; empty: none
  std::size_t skip = 0;       // physical lines skipped at the top
  HeaderChoice header = HeaderChoice::automatic;
  MissingPolicy missing = MissingPolicy::error;
  std::size_t max_line = std::size_t{16} << 20;  // bytes
  int threads = 0;                               // maximum; 0: all cores of the machine
  std::size_t block = std::size_t{512} << 10;    // bytes parsed at a time; does not affect the table
  std::vector<FilePart> parts = {};              // for each file, the part to read; empty: whole files
  // This is true for the table of --predict. --where and --skip do not apply to it, so no message advises
  // them.
  bool of_points = false;
};

// Holds the first date or time of a column. Its cells are read as seconds since then.
struct TimeOrigin {
  std::string text;
  Moment moment;
};

// Writes a number of a column of dates as a date. Returns nothing if there is no origin, or if the number is
// not that of a date.
inline std::optional<std::string> date_text(const TimeOrigin* origin, double seconds) {
  return origin ? moment_text(origin->moment, seconds) : std::nullopt;
}

struct CsvShape {
  char delimiter = ',';
  bool has_header = false;                            // also if a comment names the columns
  std::vector<std::string> names;                     // one per column; all empty without a header
  std::vector<std::string> units = {};                // one per column, of a row below the header; or empty
  std::vector<std::optional<TimeOrigin>> times = {};  // one per column, or empty: none has dates
  // Names that cannot be columns, and why: arrays of an archive that are no real numbers.
  std::vector<std::pair<std::string, std::string>> unusable = {};
  std::vector<std::string> notes = {};  // "units in line 2 skipped", for the report
  std::size_t columns() const { return names.size(); }
  // Returns the unit of a column, or an empty text if no row has units.
  std::string unit(std::size_t column) const { return column < units.size() ? units[column] : std::string(); }
  // Null unless the column has dates or times.
  const TimeOrigin* time(std::size_t column) const {
    return column < times.size() && times[column] ? &*times[column] : nullptr;
  }
};

// Returns true if both units are known and differ.
inline bool are_other_units(const std::string& a, const std::string& b) {
  return !a.empty() && !b.empty() && a != b;
}

// Compares a text column: the result is 1 where the cell is (or with `negated` is not) this text, otherwise
// 0.
struct TextMatch {
  std::size_t column = 0;
  std::string text;
  bool negated = false;
  bool operator==(const TextMatch&) const = default;
};

// Returns "comma", "semicolon", "tab", "blanks", or the character itself.
std::string delimiter_name(char delimiter);

// Returns "column 2" or "column 2 (time)". `index` counts from 0.
std::string column_label(const CsvShape& shape, std::size_t index);

}  // namespace nlsq::cli
