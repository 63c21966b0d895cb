// The options of an input table, and the format found in it. The command line and the CSV reader use them.
#pragma once

#include "table/numbers/number.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace nlsq::cli {

enum class HeaderChoice { automatic, yes, no };
enum class MissingPolicy { error, drop };

// The delimiter character. kBlanks means runs of spaces and tabs.
inline constexpr char kBlanks = '\0';

struct CsvOptions {
  std::optional<char> delimiter;  // none: detected
  NumberFormat number;
  std::string comment = "#";  // lines that begin with it (after blanks) are skipped; empty: none
  std::size_t skip = 0;       // physical lines skipped at the top
  HeaderChoice header = HeaderChoice::automatic;
  MissingPolicy missing = MissingPolicy::error;
  std::size_t max_line = std::size_t{16} << 20;  // bytes
  int threads = 0;                               // maximum; 0: all cores of the machine
  std::size_t block = std::size_t{512} << 10;    // bytes parsed at a time; does not affect the table
};

struct CsvShape {
  char delimiter = ',';
  bool has_header = false;
  std::vector<std::string> names;  // one per column; all empty without a header
  std::size_t columns() const { return names.size(); }
};

// "comma", "semicolon", "tab", "blanks", or the character itself.
std::string delimiter_name(char delimiter);

// "column 2" or "column 2 (time)"; `index` counts from 0.
std::string column_label(const CsvShape& shape, std::size_t index);

}  // namespace nlsq::cli
