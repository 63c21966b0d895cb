// Reads a table from a string, and returns the message if it is refused.
#pragma once

#include "errors.hpp"
#include "table/csv/csv_reader.hpp"

#include <string>
#include <vector>

namespace csv_support {

using namespace nlsq::cli;

struct ReadTable {
  CsvShape shape;
  CsvColumns columns;
};

// Reads every column, or those in `wanted`.
inline ReadTable read(const std::string& bytes, const CsvOptions& options = {},
                      std::vector<std::size_t> wanted = {}) {
  CsvReader reader(open_memory(bytes, "t.csv"), options);
  std::erase_if(wanted,
                [&](std::size_t column) { return column >= reader.shape().columns(); });  // a damaged header
  if (wanted.empty()) {
    for (std::size_t i = 0; i < reader.shape().columns(); ++i) wanted.push_back(i);
  }
  ReadTable table{reader.shape(), {}};
  table.columns = reader.read(wanted);
  return table;
}

inline std::vector<nlsq::cli::RowVector<double>> values(const std::string& bytes,
                                                        const CsvOptions& options = {},
                                                        std::vector<std::size_t> wanted = {}) {
  return read(bytes, options, std::move(wanted)).columns.values;
}

// Returns the message of the refusal, or "accepted" if there is none.
inline std::string refusal(const std::string& bytes, const CsvOptions& options = {},
                           std::vector<std::size_t> wanted = {}) {
  try {
    read(bytes, options, std::move(wanted));
  } catch (const BadData& e) {
    return e.what();
  }
  return "accepted";
}

// Returns true if the message starts with the place and contains every part.
inline bool says(const std::string& message, const std::string& place,
                 std::initializer_list<const char*> parts) {
  if (message.rfind("t.csv:" + place + ": ", 0) != 0) return false;
  for (const char* part : parts) {
    if (message.find(part) == std::string::npos) return false;
  }
  return true;
}

}  // namespace csv_support
